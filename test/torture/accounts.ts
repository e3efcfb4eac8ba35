import { setTimeout as sleep } from "node:timers/promises";

import type { OrgId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import type { PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { addKey } from "../support/add-key.ts";
import { testOperator } from "../support/test-operator.ts";
import type { Random } from "../simulation/random.ts";

/** The thing that runs short at an organization: nothing, its balance, its own cap, or its keys' caps. */
export type Shortage = "nothing" | "balance" | "org_cap" | "key_cap";

export interface TortureAccount {
  readonly orgId: OrgId;
  readonly shortage: Shortage;
  /** Raw keys in use; a capped key is replaced from time to time. */
  readonly keys: string[];
}

/** How many organizations of each kind there are. */
const KINDS: Readonly<Record<Shortage, number>> = {
  nothing: 4,
  balance: 3,
  org_cap: 2,
  key_cap: 2,
};
const KEYS_EACH = 3;
const MANY_MICRO_USD = 1_000_000_000_000n;
/** The helping of a short organization, for each client: less than they all would use. */
const HELPING_MICRO_USD_PER_CLIENT = 6n;
const HELPING_EVERY_MS = 1_000;

/** The amount that a short organization may use up in the time between two helpings. */
export function helpingOf(clients: number): bigint {
  return HELPING_MICRO_USD_PER_CLIENT * BigInt(clients);
}

/** Opens every organization with its keys. */
export async function openAccounts(
  backend: PostgresBackend,
  helping: bigint,
): Promise<TortureAccount[]> {
  const accounts: TortureAccount[] = [];
  for (const [shortage, count] of Object.entries(KINDS) as [Shortage, number][]) {
    for (let n = 1; n <= count; n++) {
      accounts.push(await openAccount(backend, { shortage, helping }));
    }
  }
  return accounts;
}

interface AccountTerms {
  readonly shortage: Shortage;
  readonly helping: bigint;
}

async function openAccount(
  backend: PostgresBackend,
  { shortage, helping }: AccountTerms,
): Promise<TortureAccount> {
  const name = `short of ${shortage}`;
  const { orgId } = await backend.accountStore.createOrg(
    { name, email: "t@example.com" },
    testOperator,
  );
  const start = shortage === "balance" ? helping : MANY_MICRO_USD;
  await grant(backend, { orgId, amount: start, ref: `${orgId} start` });
  if (shortage === "org_cap")
    await backend.accountStore.setOrgCap(orgId, microUsd(helping), testOperator);
  const keys: string[] = [];
  for (let i = 0; i < KEYS_EACH; i++) {
    keys.push(await openKey(backend, { orgId, shortage, helping }));
  }
  return { orgId, shortage, keys };
}

async function openKey(
  backend: PostgresBackend,
  { orgId, shortage, helping }: AccountTerms & { readonly orgId: OrgId },
): Promise<string> {
  const month = shortage === "key_cap" ? microUsd(helping * 2n) : null;
  return (await addKey(backend, orgId, { caps: { month } })).key;
}

function grant(
  backend: PostgresBackend,
  of: { readonly orgId: OrgId; readonly amount: bigint; readonly ref: string },
): Promise<unknown> {
  const amountMicroUsd = microUsd(of.amount);
  return backend.creditStore.grant({ orgId: of.orgId, amountMicroUsd, ref: of.ref }, testOperator);
}

interface CashierTill {
  readonly accounts: readonly TortureAccount[];
  readonly helping: bigint;
  readonly dice: Random;
}

/** Feeds the short organizations, so that they run short again and again. */
export class Cashier {
  /** References of the grants that were acknowledged: each must stand in the books once. */
  readonly granted: string[] = [];
  readonly #backend: PostgresBackend;
  readonly #till: CashierTill;
  #isOpen = true;
  #round = 0;
  #work: Promise<void> = Promise.resolve();

  constructor(backend: PostgresBackend, till: CashierTill) {
    this.#backend = backend;
    this.#till = till;
  }

  open(): void {
    this.#work = this.#serve();
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    await this.#work;
  }

  async #serve(): Promise<void> {
    while (this.#isOpen) {
      await sleep(HELPING_EVERY_MS);
      this.#round += 1;
      for (const account of this.#till.accounts) await this.#untilDone(() => this.#feed(account));
    }
  }

  /** The database may be down, and the answer of a commit may be lost: asked again until it is there. */
  async #untilDone(act: () => Promise<void>): Promise<void> {
    while (this.#isOpen) {
      try {
        await act();
        return;
      } catch {
        await sleep(100);
      }
    }
  }

  async #feed(account: TortureAccount): Promise<void> {
    const { orgId, shortage, keys } = account;
    const { helping, dice } = this.#till;
    switch (shortage) {
      case "nothing":
        return;
      case "balance": {
        const ref = `${orgId} helping ${this.#round}`;
        await grant(this.#backend, { orgId, amount: helping, ref });
        this.granted.push(ref);
        return;
      }
      case "org_cap": {
        const cap = microUsd(helping * BigInt(this.#round + 1));
        await this.#backend.accountStore.setOrgCap(orgId, cap, testOperator);
        return;
      }
      case "key_cap":
        keys[dice.between(0, keys.length - 1)] = await openKey(this.#backend, {
          orgId,
          shortage,
          helping,
        });
        return;
      default:
        throw new Error(`unknown shortage ${String(shortage satisfies never)}`);
    }
  }
}
