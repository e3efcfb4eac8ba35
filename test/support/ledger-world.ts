import { expect } from "vitest";
import { unreachable } from "../../src/core/assert.ts";
import type { AttemptId, KeyId, OrgId } from "../../src/core/ids.ts";
import { microUsd, picoUsd } from "../../src/core/money.ts";
import { CreditFault } from "../../src/ledger/credit-store.ts";
import type { Membership } from "../../src/ledger/ledger-batch-store.ts";
import type { CloseRow, ReserveOutcome, ReserveRow } from "../../src/ledger/ledger-store.ts";
import {
  LedgerModel,
  type ModelClose,
  type ModelReserve,
  type ModelReserveOutcome,
} from "../../src/ledger/ledger-model.ts";
import { closeRow, keyOf, orgWithKey, reserveRow, voidRow } from "./ledger-rows.ts";
import type { FreshBackend } from "./postgres.ts";

export const ORGS = 2;
export const KEYS_PER_ORG = 2;
const LEASE_MS = 60_000;
const NO_ATTEMPT = 9_000_000_000n;

let lastAttempt = 1n;
let worldsMade = 0;

export interface ReserveSpec {
  readonly org: number;
  readonly key: number;
  readonly amount: bigint;
}
export interface CloseSpec {
  /** Index into the attempts so far; beyond them: an attempt that never was. */
  readonly pick: number;
  readonly costPico: bigint;
  readonly kind: "usage" | "void";
}
export type LedgerCommand =
  | { readonly do: "reserve"; readonly rows: readonly ReserveSpec[] }
  | { readonly do: "close"; readonly rows: readonly CloseSpec[] }
  | { readonly do: "roll"; readonly rows: readonly (ReserveSpec & { close: CloseSpec | null })[] }
  | { readonly do: "grant"; readonly org: number; readonly amount: bigint; readonly ref: number }
  | { readonly do: "cap"; readonly org: number; readonly key: number; readonly cap: bigint | null }
  | { readonly do: "month" }
  | { readonly do: "crash" };

/** The same organizations in the database and in the model. */
export class LedgerWorld {
  readonly model: LedgerModel = new LedgerModel();
  readonly orgs: { readonly id: OrgId; readonly keys: readonly KeyId[] }[] = [];
  readonly attempts: bigint[] = [];
  readonly #number = ++worldsMade;
  readonly #backend: FreshBackend;
  member: Membership;

  constructor(backend: FreshBackend, member: Membership) {
    this.#backend = backend;
    this.member = member;
  }

  static async make(backend: FreshBackend): Promise<LedgerWorld> {
    const world = new LedgerWorld(backend, await backend.ledgerBatchStore.join("model", LEASE_MS));
    await backend.ledgerBatchStore.recoverOpenAttempts(); // of the world before
    for (let i = 0; i < ORGS; i++) {
      const { orgId, keyId } = await orgWithKey(backend, { creditMicroUsd: 100n });
      const keys = [keyId];
      while (keys.length < KEYS_PER_ORG) keys.push(await keyOf(backend, orgId));
      world.orgs.push({ id: orgId, keys });
      const modelKeys = new Map(keys.map((key) => [key as string, null]));
      world.model.orgs.set(orgId, { credits: 100n, debits: 0n, cap: null, keys: modelKeys });
    }
    return world;
  }

  async run(step: LedgerCommand): Promise<void> {
    switch (step.do) {
      case "reserve":
        return await this.#reserve(step.rows.map((row) => ({ ...row, close: null })));
      case "roll":
        return await this.#reserve(step.rows);
      case "close":
        return await this.#close(step.rows);
      case "grant":
        return await this.#grant(step.org, step.amount, `run ${this.#number} ref ${step.ref}`);
      case "cap":
        return await this.#cap(step);
      case "month":
        this.model.month += 1;
        return await passMonth(this.#backend, this.orgs);
      case "crash": {
        this.member = await this.#backend.ledgerBatchStore.join("model", LEASE_MS);
        agree(await this.#backend.ledgerBatchStore.recoverOpenAttempts(), this.model.crash());
      }
    }
  }

  async #reserve(specs: readonly (ReserveSpec & { close: CloseSpec | null })[]): Promise<void> {
    const closings = specs.map(({ close }) => (close === null ? null : this.#closing(close)));
    const rows = specs.map((spec) => this.#holding(spec));
    const outcomes = await this.#backend.ledgerBatchStore.reserveBatch(
      this.member,
      rows.map(({ row }, i) => ({ row, close: closings[i]?.row ?? null })),
    );
    for (const closing of closings) if (closing !== null) this.model.close(closing.model);
    const expected = rows.map(({ model }) => this.model.reserve(model));
    agree(outcomes.map(comparable), expected);
    rows.forEach(({ model }, i) => {
      if (expected[i]?.kind === "reserved") this.attempts.push(model.attempt);
    });
  }

  async #close(specs: readonly CloseSpec[]): Promise<void> {
    const closings = specs.map((spec) => this.#closing(spec));
    const verdicts = await this.#backend.ledgerBatchStore.closeBatch(
      closings.map(({ row }) => row),
    );
    const found = verdicts.map((verdict) => ({
      kind: verdict.kind,
      debit: verdict.debitMicroUsd,
      overrun: verdict.overrunMicroUsd,
    }));
    agree(
      found,
      closings.map(({ model }) => this.model.close(model)),
    );
  }

  async #grant(orgAt: number, credit: bigint, ref: string): Promise<void> {
    const orgId = this.#org(orgAt).id;
    const expected = this.model.grant(orgId, credit, ref);
    const granting = this.#backend.creditStore.grant({
      orgId,
      amountMicroUsd: microUsd(credit),
      ref,
    });
    if (expected === undefined) return await isRefused(granting);
    const balanceMicroUsd = this.model.wallet(orgId).settled;
    agree(await granting, { created: expected, balanceMicroUsd });
  }

  async #cap(step: { org: number; key: number; cap: bigint | null }): Promise<void> {
    const { id, keys } = this.#org(step.org);
    const key = keys[step.key];
    const wallet = this.model.orgs.get(id);
    if (key === undefined) {
      if (wallet !== undefined) wallet.cap = step.cap;
      const cap = step.cap === null ? null : microUsd(step.cap);
      agree(await this.#backend.accountStore.setOrgCap(id, cap), true);
    } else {
      wallet?.keys.set(key, step.cap);
      const sql = "update api_key set cap_micro_usd = $2 where key_id = $1";
      await this.#backend.query(sql, [key, step.cap]);
    }
  }

  #org(at: number): { readonly id: OrgId; readonly keys: readonly KeyId[] } {
    const found = this.orgs[at];
    if (found === undefined) throw new Error(`no organization ${at}`);
    return found;
  }

  #holding(spec: ReserveSpec): { readonly row: ReserveRow; readonly model: ModelReserve } {
    const { id, keys } = this.#org(spec.org);
    // The key after an organization's own ones is another organization's first key.
    const key = keys[spec.key] ?? this.#org((spec.org + 1) % ORGS).keys[0] ?? ("" as KeyId);
    const attempt = lastAttempt++;
    const of = { orgId: id, keyId: key, attemptId: attempt as AttemptId };
    return {
      row: reserveRow(of, spec.amount),
      model: { attempt, org: id, key, amount: spec.amount },
    };
  }

  #closing(spec: CloseSpec): { readonly row: CloseRow; readonly model: ModelClose } {
    const attempt = (this.attempts[spec.pick] ?? NO_ATTEMPT) as AttemptId;
    const row =
      spec.kind === "void"
        ? voidRow(attempt)
        : closeRow(attempt, 0n, { costPicoUsd: picoUsd(spec.costPico) });
    return { row, model: { attempt, costPico: spec.costPico, kind: spec.kind } };
  }

  async compare(): Promise<void> {
    for (const { id } of this.orgs) {
      const { settled, held } = this.model.wallet(id);
      agree(await this.#backend.recordStore.balance(id), {
        settledMicroUsd: settled,
        heldMicroUsd: held,
      });
    }
    const rows = await this.#backend.query(
      "select concat_ws(' ', attempt_id, state, debit, overrun) as line from attempt where org_id = any ($1)",
      [this.orgs.map(({ id }) => id)],
    );
    const found = rows.map((row) => row["line"]);
    const expected = [...this.model.attempts.values()].map(
      ({ attempt, state, debit, overrun }) => `${attempt} ${state} ${debit} ${overrun}`,
    );
    agree(new Set(found), new Set(expected));
  }
}

function comparable(outcome: ReserveOutcome): ModelReserveOutcome {
  switch (outcome.kind) {
    case "low_balance":
      return {
        kind: outcome.kind,
        available: outcome.availableMicroUsd,
        held: outcome.heldMicroUsd,
      };
    case "cap":
      return {
        kind: outcome.kind,
        scope: outcome.scope,
        cap: outcome.capMicroUsd,
        settled: outcome.settledMicroUsd,
        inFlight: outcome.inFlightMicroUsd,
      };
    case "reserved":
    case "unavailable":
      return { kind: outcome.kind };
    default:
      return unreachable(outcome);
  }
}

/** The database's clock cannot be set: the past of these organizations moves instead. */
async function passMonth(backend: FreshBackend, orgs: LedgerWorld["orgs"]): Promise<void> {
  const orgIds = orgs.map(({ id }) => id);
  const spenders = [...orgIds, ...orgs.flatMap(({ keys }) => keys)];
  await backend.query("begin");
  await backend.query("set local session_replication_role = replica");
  // By way of a far past, so that no month is in another's place.
  for (const move of ["- interval '1000 years'", "+ interval '1000 years' - interval '1 month'"]) {
    await backend.query(`update spend set month = month ${move} where id = any ($1)`, [spenders]);
  }
  await backend.query(
    "update attempt set month = month - interval '1 month' where org_id = any ($1)",
    [orgIds],
  );
  await backend.query("commit");
}

function agree(found: unknown, expected: unknown): void {
  expect(found).toEqual(expected);
}

async function isRefused(granting: Promise<unknown>): Promise<void> {
  await expect(granting).rejects.toThrow(CreditFault);
}
