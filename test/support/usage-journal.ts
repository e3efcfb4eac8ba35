import * as fc from "fast-check";
import {
  createRequestId,
  type AttemptId,
  type KeyId,
  type ModelId,
  type OrgId,
  type ProviderId,
  type RequestId,
} from "../../src/kernel/core/ids.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import type { Membership } from "../../src/ledger/ledger-batch-store.ts";
import type { CloseRow } from "../../src/ledger/ledger-store.ts";
import type { Usage } from "../../src/kernel/core/usage.ts";
import { closeRow, keyOf, orgWithKey, reserveRow, voidRow } from "./ledger-rows.ts";
import { unknownRow } from "./old-days.ts";
import type { FreshBackend } from "./postgres.ts";

export const DAY_MS = 86_400_000;
export const DAYS = 6;
export const MODELS = ["acme/small", "acme/large"];
export const PROVIDERS = ["acme-ai", "other-ai"];
export const KEYS = 4;

export interface AttemptSpec {
  readonly end:
    "settled" | "void" | "gone" | "blamed" | "crashed" | "corrected" | "restored" | "open";
  /** True if the attempt ends only in `endLate`, after the first roll-up of usage. */
  readonly late: boolean;
  readonly provider: number;
  readonly cost: number;
  readonly firstByteMs: number;
  /** True if the attempt is held on the day after the request's. */
  readonly nextDay: boolean;
}

export interface RequestSpec {
  readonly org: number;
  readonly key: number;
  readonly model: number;
  readonly day: number;
  readonly atMs: number;
  /** Also refused, because the answer about its hold was lost; `late`: by `refuseLate`. */
  readonly refused: boolean | "late";
  readonly attempts: readonly AttemptSpec[];
}

/** The end `settled` is drawn three times as often as any other. */
const ENDS = "settled settled settled void gone blamed crashed corrected restored open".split(
  " ",
) as readonly AttemptSpec["end"][];

const attempt: fc.Arbitrary<AttemptSpec> = fc.record({
  end: fc.constantFrom(...ENDS),
  late: fc.boolean(),
  provider: fc.nat(PROVIDERS.length - 1),
  cost: fc.nat(900),
  firstByteMs: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 90_000 })),
  nextDay: fc.boolean(),
});

export const requestSpec: fc.Arbitrary<RequestSpec> = fc.record({
  org: fc.nat(1),
  key: fc.nat(KEYS - 1),
  model: fc.nat(MODELS.length - 1),
  day: fc.nat(DAYS - 1),
  // Draws the first and the last millisecond of a day more often than chance would.
  atMs: fc.oneof(fc.constantFrom(0, DAY_MS - 1), fc.nat(DAY_MS - 1)),
  refused: fc.constantFrom(true, false, "late" as const),
  attempts: fc.array(attempt, { minLength: 0, maxLength: 3 }),
});

export interface JournalOrg {
  readonly orgId: OrgId;
  /** Two ordinary keys of the organization, one of the Playground, one of optimize searches. */
  readonly keys: readonly KeyId[];
}

/** One of the two tokens written to the cache is kept for an hour. */
const USAGE: Usage = {
  prompt: 11,
  cachedPrompt: 3,
  cacheWrite: 2,
  completion: 7,
  internalReasoning: 5,
  cacheWrite1h: 1,
};

/** Writes generated requests through the ledger, on past days and on today. */
export class UsageJournal {
  readonly orgs: JournalOrg[] = [];
  readonly todayMs: number = Math.floor(systemClock.nowMs() / DAY_MS) * DAY_MS;
  readonly #backend: FreshBackend;
  readonly #member: Membership;
  readonly #late: CloseRow[] = [];
  readonly #crashed: CloseRow[] = [];
  readonly #refusals: [RequestSpec, RequestId][] = [];

  constructor(backend: FreshBackend, member: Membership) {
    this.#backend = backend;
    this.#member = member;
  }

  static async make(backend: FreshBackend, member: Membership): Promise<UsageJournal> {
    const journal = new UsageJournal(backend, member);
    for (let day = -1; day <= DAYS; day++) {
      await backend.query("select ensure_attempt_partition($1)", [journal.dayOf(day)]);
    }
    for (let i = 0; i < 2; i++) {
      const { orgId, keyId } = await orgWithKey(backend, { creditMicroUsd: 1_000_000_000n });
      const keys = [keyId, await keyOf(backend, orgId)];
      for (const origin of ["playground", "optimize"]) {
        const managed = await keyOf(backend, orgId);
        await backend.query("update api_key set origin = $2 where key_id = $1", [managed, origin]);
        keys.push(managed);
      }
      journal.orgs.push({ orgId, keys });
    }
    return journal;
  }

  startOf(day: number): number {
    return this.todayMs + (day - DAYS + 1) * DAY_MS;
  }

  dayOf(day: number): string {
    return new Date(this.startOf(day)).toISOString().slice(0, 10);
  }

  async write(specs: readonly RequestSpec[]): Promise<void> {
    const holds: Parameters<FreshBackend["ledgerBatchStore"]["reserveBatch"]>[1][number][] = [];
    const closes: CloseRow[] = [];
    for (const spec of specs) {
      const requestId = createRequestId(this.startOf(spec.day) + spec.atMs);
      const { orgId, keyId } = this.#of(spec);
      let { day } = spec;
      spec.attempts.forEach((each, at) => {
        // Attempts are admitted in order, so none is on a day before that of the attempt before it.
        if (each.nextDay && spec.day < DAYS - 1) day = spec.day + 1;
        const attemptId = this.#attemptId(day);
        const row = reserveRow({ orgId, keyId, attemptId }, 1_000n, {
          requestId,
          ordinal: at + 1,
          modelId: MODELS[spec.model] as ModelId,
          providerId: PROVIDERS[each.provider] as ProviderId,
        });
        holds.push({ row, close: null });
        this.#end(attemptId, { each, closes, final: at === spec.attempts.length - 1 });
      });
      if (spec.attempts.length === 0 || spec.refused === true) await this.#refuse(spec, requestId);
      if (spec.refused === "late") this.#refusals.push([spec, requestId]);
    }
    const outcomes = await this.#backend.ledgerBatchStore.reserveBatch(this.#member, holds);
    const refused = outcomes.find((outcome) => outcome.kind !== "reserved");
    if (refused !== undefined) throw new Error(`not reserved: ${JSON.stringify(refused)}`);
    await this.#close(closes);
  }

  async refuseLate(): Promise<void> {
    for (const refusal of this.#refusals.splice(0)) await this.#refuse(...refusal);
  }

  /** Ends the attempts that were left out as `late`, and corrects those charged after a crash. */
  async endLate(): Promise<void> {
    await this.#close(this.#late.splice(0));
    await this.#close(this.#crashed.splice(0));
  }

  #of({ org, key }: RequestSpec): { readonly orgId: OrgId; readonly keyId: KeyId } {
    const of = this.orgs[org] as JournalOrg;
    return { orgId: of.orgId, keyId: of.keys[key] as KeyId };
  }

  #attemptId(day: number): AttemptId {
    attemptsMade += 1;
    const ms = this.startOf(day) - Date.UTC(2025, 0, 1);
    return ((BigInt(ms) << 22n) + BigInt(attemptsMade)) as AttemptId;
  }

  #end(
    attemptId: AttemptId,
    { each, closes, final }: { each: AttemptSpec; closes: CloseRow[]; final: boolean },
  ): void {
    const observed = closeRow(attemptId, BigInt(each.cost), {
      firstByteMs: each.firstByteMs,
      final,
      usage: USAGE,
    });
    const blamed = { outcome: "refused", errorClass: "content_policy" } as const;
    const lost = { outcome: "lost_in_restore", errorClass: "gateway_error" } as const;
    const rows: Partial<Record<AttemptSpec["end"], CloseRow>> = {
      settled: observed,
      void: voidRow(attemptId, { final }),
      gone: { ...observed, outcome: "client_disconnected" },
      blamed: voidRow(attemptId, { final, ...blamed }),
      crashed: unknownRow(attemptId),
      restored: voidRow(attemptId, { final, ...lost }),
    };
    const row = rows[each.end];
    if (row !== undefined) (each.late ? this.#late : closes).push(row);
    if (each.end !== "corrected") return;
    closes.push(unknownRow(attemptId));
    this.#crashed.push(observed);
  }

  async #refuse(spec: RequestSpec, requestId: RequestId): Promise<void> {
    const refused = {
      requestId,
      ...this.#of(spec),
      modelId: MODELS[spec.model] ?? null,
      route: "/v1/chat/completions",
      stream: false,
      errorClass: spec.key === 1 ? "client_left" : "rate_limit",
      createdAtMs: this.startOf(spec.day) + spec.atMs,
    } as const;
    await this.#backend.ledgerBatchStore.recordRefusedBatch([refused], []);
  }

  async #close(rows: readonly CloseRow[]): Promise<void> {
    if (rows.length > 0) await this.#backend.ledgerBatchStore.closeBatch(rows);
  }
}

let attemptsMade = 0;

export async function rollAll(backend: FreshBackend): Promise<void> {
  while (await backend.usageRollup.rollSome());
}
