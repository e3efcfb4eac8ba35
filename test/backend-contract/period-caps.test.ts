import { isDeepStrictEqual } from "node:util";

import * as fc from "fast-check";
import { beforeAll, expect, test } from "vitest";

import { assert } from "../../src/kernel/core/assert.ts";
import type { AttemptId } from "../../src/kernel/core/ids.ts";
import type { ReserveOutcome } from "../../src/ledger/ledger-store.ts";
import { quickOrDeep, seedOf } from "../support/depth.ts";
import { closeRow, orgWithKey, reserveRow, voidRow } from "../support/ledger-rows.ts";
import { openOnDatabaseClock, setDatabaseClock } from "../support/database-clock.ts";
import { withPricedBackend, withMember } from "../support/postgres.ts";
import { withResource } from "../support/with-resource.ts";

/*
 * Compares caps by day, week and month with a plain list of requests and times. The database's
 * functions read a clock that the test sets, and its sessions use a time zone far from UTC.
 */
const plain = withPricedBackend();
const backend = withResource(() => openOnDatabaseClock(plain));
let lastAttempt = 0n;

const member = withMember(backend);
beforeAll(async () => {
  await plain.query(
    `select ensure_attempt_partition(date '2031-01-28' + n) from generate_series(0, $1) as n`,
    [DAYS_MAX + 1],
  );
});

const START_MS = Date.UTC(2031, 0, 29, 12); // A Wednesday, three days before February.
const HOUR_MS = 3_600_000;
const DAYS_MAX = 20;
const PERIODS = ["day", "week", "month"] as const;
type Period = (typeof PERIODS)[number];

interface Request {
  readonly attempt: bigint;
  readonly atMs: number;
  readonly reserve: bigint;
  debit: bigint | undefined;
}

/** The expected spend: a plain list of the admitted requests with their times. */
class Requests {
  readonly caps: Record<Period, bigint | null> = { day: null, week: null, month: null };
  readonly admitted: Request[] = [];

  /** Returns the cap that refuses; of several, the one that resets last; undefined if none does. */
  refusedBy(amount: bigint, nowMs: number): { period: Period; resetAtMs: number } | undefined {
    const held = this.admitted.reduce(
      (sum, r) => sum + (r.debit === undefined ? r.reserve : 0n),
      0n,
    );
    const refusing = (["month", "week", "day"] as const).flatMap((period) => {
      const cap = this.caps[period];
      const { fromMs, toMs } = spanOf(period, nowMs);
      const settled = this.admitted
        .filter(({ atMs }) => atMs >= fromMs && atMs < toMs)
        .reduce((sum, { debit = 0n }) => sum + debit, 0n);
      return cap !== null && settled + held + amount > cap ? [{ period, resetAtMs: toMs }] : [];
    });
    return refusing.toSorted((a, b) => b.resetAtMs - a.resetAtMs)[0];
  }
}

function spanOf(period: Period, nowMs: number): { fromMs: number; toMs: number } {
  const now = new Date(nowMs);
  const [year, month, date] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  if (period === "month") return { fromMs: Date.UTC(year, month), toMs: Date.UTC(year, month + 1) };
  const first = period === "day" ? date : date - ((now.getUTCDay() + 6) % 7);
  const days = period === "day" ? 1 : 7;
  return { fromMs: Date.UTC(year, month, first), toMs: Date.UTC(year, month, first + days) };
}

const amount = fc.bigInt(1n, 40n);
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("reserve" as const),
      amounts: fc.array(amount, { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("end" as const),
      pick: fc.nat(5),
      debit: fc.bigInt(0n, 40n),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("crash" as const), pick: fc.nat(5) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("late" as const),
      pick: fc.nat(5),
      debit: fc.bigInt(0n, 40n),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("cap" as const),
      period: fc.constantFrom(...PERIODS),
      cap: fc.option(fc.bigInt(10n, 160n)),
    }),
  },
  // The waits reach the last millisecond of a day and go beyond it.
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("wait" as const),
      how: fc.constantFrom("an hour", "to the end of the day", "a millisecond", "a day"),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

class World {
  readonly requests = new Requests();
  readonly seen = new Set<string>();
  readonly #of: Awaited<ReturnType<typeof orgWithKey>>;
  #nowMs = START_MS;

  constructor(of: Awaited<ReturnType<typeof orgWithKey>>) {
    this.#of = of;
  }

  async run(each: Step): Promise<void> {
    const { ledgerBatchStore: store } = backend;
    const { admitted } = this.requests;
    const picked = (list: readonly Request[], pick: number): Request | undefined =>
      list.at(-1 - pick);
    const open = admitted.filter(({ debit }) => debit === undefined);
    switch (each.do) {
      case "reserve":
        return await this.#reserve(each.amounts);
      case "end": {
        const request = picked(open, each.pick);
        if (request === undefined) return;
        request.debit = each.debit < request.reserve ? each.debit : request.reserve;
        await store.closeBatch([closeRow(request.attempt as AttemptId, each.debit)]);
        return;
      }
      case "crash": {
        const request = picked(open, each.pick);
        if (request === undefined) return;
        request.debit = request.reserve;
        await plain.query(
          "select close_unobserved($1, 'unknown_after_crash', 'unknown_after_crash', null, null)",
          [[request.attempt]],
        );
        this.seen.add("crash");
        return;
      }
      case "late": {
        const request = picked(
          admitted.filter((r) => r.debit !== undefined),
          each.pick,
        );
        if (request === undefined) return;
        const [verdict] = await store.closeBatch([
          closeRow(request.attempt as AttemptId, each.debit),
        ]);
        if (verdict?.kind !== "corrected") return;
        request.debit = each.debit < request.reserve ? each.debit : request.reserve;
        this.seen.add("corrected");
        return;
      }
      case "cap":
        this.requests.caps[each.period] = each.cap;
        await plain.query(
          `update api_key set cap${each.period === "month" ? "" : `_${each.period}`}_micro_usd = $2
          where key_id = $1`,
          [this.#of.keyId, each.cap],
        );
        return;
      case "wait": {
        const dayEnd = spanOf("day", this.#nowMs).toMs;
        const to = {
          "an hour": this.#nowMs + HOUR_MS,
          "to the end of the day": dayEnd - 1,
          "a millisecond": this.#nowMs + 1,
          "a day": this.#nowMs + 24 * HOUR_MS,
        };
        this.#nowMs = Math.min(to[each.how], START_MS + DAYS_MAX * 24 * HOUR_MS);
      }
    }
  }

  async #reserve(amounts: readonly bigint[]): Promise<void> {
    await setDatabaseClock(plain, new Date(this.#nowMs).toISOString());
    const rows = amounts.map((each) =>
      reserveRow({ ...this.#of, attemptId: this.#newAttempt() }, each),
    );
    const outcomes = await backend.ledgerBatchStore.reserveBatch(
      member,
      rows.map((row) => ({ row, close: null })),
    );
    rows.forEach((row, i) => {
      const { reserveMicroUsd: reserve, attemptId: attempt } = row;
      const refused = this.requests.refusedBy(reserve, this.#nowMs);
      assert(
        isDeepStrictEqual(shown(outcomes[i]), refused ?? "reserved"),
        `${JSON.stringify(shown(outcomes[i]))} is ${JSON.stringify(refused ?? "reserved")}`,
      );
      this.seen.add(refused?.period ?? "reserved");
      if (refused === undefined)
        this.requests.admitted.push({ attempt, atMs: this.#nowMs, reserve, debit: undefined });
    });
  }

  /** Makes an id of the current instant, as instances do. */
  #newAttempt(): AttemptId {
    lastAttempt += 1n;
    return ((BigInt(this.#nowMs - Date.UTC(2025, 0, 1)) << 22n) + lastAttempt) as AttemptId;
  }

  async end(): Promise<void> {
    const open = this.requests.admitted.filter(({ debit }) => debit === undefined);
    await backend.ledgerBatchStore.closeBatch(
      open.map(({ attempt }) => voidRow(attempt as AttemptId)),
    );
  }
}

function shown(outcome: ReserveOutcome | undefined): unknown {
  if (outcome?.kind !== "cap") return outcome?.kind;
  return { period: outcome.period, resetAtMs: outcome.resetAtMs };
}

test("daily, weekly and monthly caps admit and refuse as a plain model does, across ends of periods", async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 30, maxLength: 60, size: "max" }),
      async (steps) => {
        await setDatabaseClock(plain, new Date(START_MS).toISOString());
        const world = new World(await orgWithKey(backend, { creditMicroUsd: 1_000_000n }));
        for (const each of steps) await world.run(each);
        await world.end();
        for (const each of world.seen) seen.add(each);
      },
    ),
    { numRuns: quickOrDeep(12, 200), seed: seedOf("caps by period", 29) },
  );
  expect([...seen].sort()).toEqual(["corrected", "crash", "day", "month", "reserved", "week"]);
}, 600_000);
