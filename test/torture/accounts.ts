import { setTimeout as sleep } from "node:timers/promises";

import type { OrgId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import type { PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { addKey } from "../support/add-key.ts";
import { testOperator } from "../support/test-operator.ts";
import type { Random } from "../simulation/random.ts";

/** The resource that an organization keeps using up: none, its balance, its cap, or keys' caps. */
export type Shortage = "nothing" | "balance" | "org_cap" | "key_cap";

export interface TortureAccount {
  readonly orgId: OrgId;
  readonly shortage: Shortage;
  /** Raw keys in use; where keys have a cap, one of them is replaced every second. */
  readonly keys: string[];
}

/** Number of organizations of each kind. */
const KINDS: Readonly<Record<Shortage, number>> = {
  nothing: 4,
  balance: 3,
  org_cap: 2,
  key_cap: 2,
};
const KEYS_EACH = 3;
const MANY_MICRO_USD = 1_000_000_000_000n;
/** Micro-dollars per client in each top-up of a scarce resource: less than clients would use. */
const HELPING_MICRO_USD_PER_CLIENT = 6n;
const HELPING_EVERY_MS = 1_000;

/** Returns the micro-dollars that an organization may use up between two such top-ups. */
export function helpingOf(clients: number): bigint {
  return HELPING_MICRO_USD_PER_CLIENT * BigInt(clients);
}

/** Creates every organization with its keys. */
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

/** Tops up each scarce resource every second, so that it is used up again and again. */
export class Cashier {
  /** References of the grants that were acknowledged: each must be in the books exactly once. */
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

  /** Repeats `act` until it succeeds: the database may be down, or a commit's answer lost. */
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
