import { inspect, isDeepStrictEqual } from "node:util";

import * as fc from "fast-check";
import { Client } from "pg";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { assert } from "../../src/kernel/core/assert.ts";
import { attemptInstantMs, type AttemptId } from "../../src/kernel/core/ids.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import { LaneConnection, runBatch } from "../../src/ledger/ledger-batches.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { until } from "../support/books.ts";
import { quickOrDeep, seedOf } from "../support/depth.ts";
import { closeRow, orgWithKey, reserveRow, voidRow } from "../support/ledger-rows.ts";
import { openOnDatabaseClock, setDatabaseClock } from "../support/database-clock.ts";
import { databaseOfTest, withMember, withPricedBackend } from "../support/postgres.ts";
import { silentLog } from "../support/silent-log.ts";
import { lockWallet } from "../support/sql.ts";
import { withResource } from "../support/with-resource.ts";

const plain = withPricedBackend();
const backend = withResource(() => openOnDatabaseClock(plain));
const setClock = (instant: string): Promise<void> => setDatabaseClock(plain, instant);
const member = withMember(backend);

/*
 * Caps by day, week and month are compared with a plain list of requests and times. The database's
 * functions read a clock that the test sets, and its sessions use a time zone far from UTC.
 */
let lastAttempt = 0n;
const START_MS = Date.UTC(2031, 0, 29, 12); // A Wednesday, three days before February.
const HOUR_MS = 3_600_000;
const DAYS_MAX = 20;
const PERIODS = ["day", "week", "month"] as const;
type Period = (typeof PERIODS)[number];

beforeAll(async () => {
  await plain.query(
    `select ensure_attempt_partition(date '2031-01-28' + n) from generate_series(0, $1) as n`,
    [DAYS_MAX + 1],
  );
});

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

  /** The spend of the period in which each request was admitted, and all holds, count in a cap. */
  outcomeOf(amount: bigint, nowMs: number) {
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
      if (cap === null || settled + held + amount <= cap) return [];
      const figures = { capMicroUsd: cap, settledMicroUsd: settled, inFlightMicroUsd: held };
      return [{ kind: "cap", scope: "key", period, ...figures, resetAtMs: toMs } as const];
    });
    // Of several caps, the one that resets last refuses.
    return refusing.toSorted((a, b) => b.resetAtMs - a.resetAtMs)[0] ?? RESERVED;
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

const RESERVED = { kind: "reserved" } as const;

const only = <T extends string>(name: T): fc.Arbitrary<T> => fc.constant(name);
const pick = fc.nat(5);
const someDebit = fc.bigInt(0n, 40n);
const someAmounts = fc.array(fc.bigInt(1n, 40n), { minLength: 1, maxLength: 4 });
const somePeriod = fc.constantFrom(...PERIODS);
const someCap = fc.option(fc.bigInt(10n, 160n));
// The waits reach the last millisecond of a day and go beyond it.
const how = fc.constantFrom("an hour", "to the end of the day", "a millisecond", "a day");
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: only("reserve"), amounts: someAmounts }) },
  { weight: 4, arbitrary: fc.record({ do: only("end"), pick, debit: someDebit }) },
  { weight: 1, arbitrary: fc.record({ do: only("crash"), pick }) },
  { weight: 2, arbitrary: fc.record({ do: only("late"), pick, debit: someDebit }) },
  { weight: 3, arbitrary: fc.record({ do: only("cap"), period: somePeriod, cap: someCap }) },
  { weight: 3, arbitrary: fc.record({ do: only("wait"), how }) },
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
    const of = (isOpen: boolean): readonly Request[] =>
      this.requests.admitted.filter((request) => (request.debit === undefined) === isOpen);
    switch (each.do) {
      case "reserve":
        return await this.#reserve(each.amounts);
      case "crash": {
        const request = of(true).at(-1 - each.pick);
        if (request === undefined) return;
        request.debit = request.reserve;
        await plain.query(
          "select close_unobserved($1, 'unknown_after_crash', 'unknown_after_crash', null, null)",
          [[request.attempt]],
        );
        this.seen.add("crash");
        return;
      }
      case "end":
      case "late": {
        const request = of(each.do === "end").at(-1 - each.pick);
        if (request === undefined) return;
        const row = closeRow(request.attempt as AttemptId, each.debit);
        const [verdict] = await backend.ledgerBatchStore.closeBatch([row]);
        if (verdict?.kind === "already_closed") return;
        request.debit = each.debit < request.reserve ? each.debit : request.reserve;
        this.seen.add(String(verdict?.kind));
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
    await setClock(new Date(this.#nowMs).toISOString());
    const rows = amounts.map((each) =>
      reserveRow({ ...this.#of, attemptId: this.#newAttempt() }, each),
    );
    const outcomes = await backend.ledgerBatchStore.reserveBatch(
      member,
      rows.map((row) => ({ row, close: null })),
    );
    rows.forEach(({ reserveMicroUsd: reserve, attemptId: attempt }, i) => {
      const expected = this.requests.outcomeOf(reserve, this.#nowMs);
      assert(
        isDeepStrictEqual(outcomes[i], expected),
        `${inspect(outcomes[i])} is not ${inspect(expected)}`,
      );
      this.seen.add(expected.kind === "cap" ? expected.period : expected.kind);
      if (expected.kind === "reserved")
        this.requests.admitted.push({ attempt, atMs: this.#nowMs, reserve, debit: undefined });
    });
  }

  #newAttempt(): AttemptId {
    return idAt(new Date(this.#nowMs).toISOString(), (lastAttempt += 1n));
  }

  async end(): Promise<void> {
    const open = this.requests.admitted.filter(({ debit }) => debit === undefined);
    await backend.ledgerBatchStore.closeBatch(
      open.map(({ attempt }) => voidRow(attempt as AttemptId)),
    );
  }
}

test("daily, weekly and monthly caps admit and refuse as a plain model does, across ends of periods", async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 30, maxLength: 60, size: "max" }),
      async (steps) => {
        await setClock(new Date(START_MS).toISOString());
        const world = new World(await orgWithKey(backend, { creditMicroUsd: 1_000_000n }));
        for (const each of steps) await world.run(each);
        await world.end();
        for (const each of world.seen) seen.add(each);
      },
    ),
    { numRuns: quickOrDeep(12, 200), seed: seedOf("caps by period", 29) },
  );
  const every = ["closed", "corrected", "crash", "day", "month", "reserved", "week"];
  expect([...seen].sort()).toEqual(every);
}, 600_000);

/** Makes an id as instances do at this time of the database's clock. */
function idAt(instant: string, n: bigint): AttemptId {
  return ((BigInt(Date.parse(instant) - Date.UTC(2025, 0, 1)) << 22n) + n) as AttemptId;
}

test.each([
  // 2 February 2031 is a Sunday.
  ["day", "cap_day_micro_usd", "2031-01-29T23:59:59.999Z", "2031-01-30T00:00:00Z", "2031-01-31"],
  ["week", "cap_week_micro_usd", "2031-02-02T23:59:59.999Z", "2031-02-03T00:00:00Z", "2031-02-10"],
  ["month", "cap_micro_usd", "2031-01-31T23:59:59.999Z", "2031-02-01T00:00:00Z", "2031-03-01"],
])(
  "a key's cap per %s counts that period's spend and all holds, and a refusal names its UTC reset",
  async (period, column, last, next, end) => {
    const store = backend.ledgerBatchStore;
    const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
    await plain.query(`update api_key set ${column} = 100 where key_id = $1`, [org.keyId]);
    await setClock(last);
    const reserve = async (at: string, amount: bigint): Promise<[AttemptId, unknown]> => {
      const attemptId = idAt(at, (lastAttempt += 1n));
      const row = reserveRow({ ...org, attemptId }, amount);
      const [outcome] = await store.reserveBatch(member, [{ row, close: null }]);
      return [attemptId, outcome];
    };
    const capOf = (settled: bigint, inFlight: bigint, resetAt: string): unknown =>
      expect.objectContaining({
        kind: "cap",
        scope: "key",
        period,
        capMicroUsd: 100n,
        settledMicroUsd: settled,
        inFlightMicroUsd: inFlight,
        resetAtMs: Date.parse(resetAt),
      });
    const [spent] = await reserve(last, 60n);
    await store.closeBatch([closeRow(spent, 55n)]);
    const [held, admitted] = await reserve(last, 40n);
    expect(admitted).toEqual({ kind: "reserved" });
    expect((await reserve(last, 6n))[1]).toEqual(capOf(55n, 40n, next));
    await setClock(next);
    expect((await reserve(next, 61n))[1]).toEqual(capOf(0n, 40n, end));
    await store.closeBatch([closeRow(held, 40n)]);
    // Spend counts in the period in which the attempt was admitted, whenever it ends.
    expect((await reserve(next, 100n))[1]).toEqual({ kind: "reserved" });
  },
);

// On 29 January 2031 the week resets on 3 February, which is after the month's reset.
test.each([
  ["week", "2031-01-29T12:00:00Z", "2031-02-03"],
  ["month", "2031-02-05T12:00:00Z", "2031-03-01"],
])("of several exceeded caps the %s cap refuses if it resets last", async (period, now, end) => {
  const store = backend.ledgerBatchStore;
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  await plain.query(
    `update api_key set cap_micro_usd = 100, cap_week_micro_usd = 100, cap_day_micro_usd = 100
    where key_id = $1`,
    [org.keyId],
  );
  await setClock(now);
  const row = reserveRow({ ...org, attemptId: idAt(now, (lastAttempt += 1n)) }, 101n);
  const [outcome] = await store.reserveBatch(member, [{ row, close: null }]);
  expect(outcome).toMatchObject({ kind: "cap", period, resetAtMs: Date.parse(end) });
});

test("a hold that waits for a locked wallet past the end of a month counts in the new month", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  await setClock("2031-06-30T23:59:59.999Z");
  const { connectionString } = plain;
  const blocker = await lockWallet(plain, org);
  // The time limits are long, because how long this waits depends on the machine.
  const limits = { statementTimeoutMs: 60_000, lockTimeoutMs: 60_000 };
  const lane = new LaneConnection({ connectionString, name: "patient", log: silentLog, ...limits });
  onTestFinished(() => blocker.end());
  onTestFinished(() => lane.close());
  const row = reserveRow({ ...org, attemptId: 3n as AttemptId }, 100n);
  const held = runBatch(lane, { member, closings: [], holds: [row] });
  const waiting = `select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  await until("it waits", async () => (await plain.query(waiting)).length === 1);
  await setClock("2031-07-01T00:00:00Z");
  await blocker.query("commit");
  expect(await held).toMatchObject({ outcomes: [{ kind: "reserved" }] });
  const month = "select to_char(month, 'YYYY-MM') as month from hold where attempt_id = 3";
  expect(await plain.query(month)).toEqual([{ month: "2031-07" }]);
});

test("attempts are written within seconds after the database's clock has moved ten days ahead", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  await setClock("2040-01-01T12:00:00Z");
  const store = backend.ledgerBatchStore;
  const options = { store, clock: systemClock, log: silentLog, instanceName: "jumped" };
  const ledger = await openLedger(options);
  onTestFinished(() => ledger.shutDown());
  const attempt = async (): Promise<unknown> => {
    const row = reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 1n);
    const { kind } = await ledger.reserve(row);
    const end = kind === "reserved" ? await ledger.close(closeRow(row.attemptId, 1n)) : { kind };
    return [end.kind, new Date(attemptInstantMs(row.attemptId)).toISOString().slice(0, 10)];
  };
  for (const day of ["2040-01-01", "2040-01-11"]) {
    await setClock(`${day}T12:00:00Z`);
    await expect.poll(attempt, { timeout: 15_000, interval: 200 }).toEqual(["closed", day]);
  }
});

test("a day's table begins and ends at midnight UTC in any time zone of the database", async () => {
  await backend.ledgerBatchStore.maintain();
  const session = new Client({ connectionString: plain.connectionString });
  await session.connect();
  onTestFinished(() => session.end());
  await session.query("select ensure_attempt_partition('2031-03-05')");
  const sql = `select pg_get_expr(relpartbound, oid) as bounds from pg_class
    where relname = 'attempt_20310305'`;
  const idOf = (instant: string): bigint =>
    BigInt(Date.parse(instant) - Date.parse("2025-01-01T00:00:00Z")) << 22n;
  const [from, to] = [idOf("2031-03-05T00:00:00Z"), idOf("2031-03-06T00:00:00Z")];
  expect(await plain.query(sql)).toEqual([{ bounds: `FOR VALUES FROM ('${from}') TO ('${to}')` }]);
});

test("instances that start at once on an empty journal create its partitions without a conflict", async () => {
  const connectionString = await databaseOfTest();
  const clients = Array.from({ length: 6 }, () => new Client({ connectionString }));
  onTestFinished(async () => void (await Promise.all(clients.map((client) => client.end()))));
  await Promise.all(clients.map((client) => client.connect()));
  const made = await Promise.allSettled(
    clients.map((client) => client.query("select ensure_attempt_partitions(2)")),
  );
  expect(made.filter(({ status }) => status === "rejected")).toEqual([]);
});
