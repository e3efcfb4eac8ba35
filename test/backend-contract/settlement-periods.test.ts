import { beforeAll, describe, expect, test } from "vitest";
import { openPostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import { balanceOf, closeUntil, entriesOf, spansOf } from "../support/settlement-books.ts";
import { brokenSettlement, withSettlementBooks } from "../support/settlement-journal.ts";
import { tamper } from "../support/postgres.ts";
import { silentLog } from "../support/silent-log.ts";
import { openTransaction } from "../support/sql.ts";
import { testOperator } from "../support/test-operator.ts";

const { backend, journal } = withSettlementBooks();

describe("the closing of periods", () => {
  test("closes each period once when many processes run it at once", async () => {
    const days = Array.from({ length: 12 }, (_, i) => `2026-02-${String(i + 1).padStart(2, "0")}`);
    await journal.write(
      days.map((day) => ({ provider: "race", closed: `${day}T05:00Z`, cost: 1_999_999n })),
    );
    const { connectionString } = backend;
    const peers = Array.from({ length: 4 }, () =>
      openPostgresBackend({ connectionString, log: silentLog }),
    );
    const closed = await Promise.all(
      [...peers, ...peers].map((peer, i) =>
        closeUntil(peer, `${days[4 + (i % 8)]}T00:00Z`, { id: "race" }),
      ),
    );
    const rest = await closeUntil(backend, "2026-02-13T00:00Z", { id: "race" });
    const spans = spansOf([...closed.flat(), ...rest]).toSorted();
    expect(spans.map((span) => span.slice(0, 10))).toEqual(days);
    const owed = await balanceOf(backend, "race");
    expect(owed).toMatchObject({ accruedMicroUsd: 0n, payableMicroUsd: 23n });
    await Promise.all(peers.map((peer) => peer.close()));
  });

  test("neither blocks running traffic nor loses its attempts", async () => {
    await journal.write([{ provider: "busy", closed: "2026-01-01T05:00Z", cost: 5_000_000n }]);
    const over = new AbortController();
    const ended = { pairs: 0n };
    const traffic = async (): Promise<void> => {
      while (!over.signal.aborted) {
        await journal.write([
          { provider: "busy", cost: 1_000_000n },
          { provider: "busy", cost: 2_000_000n },
        ]);
        ended.pairs += 1n;
      }
    };
    const running = traffic();
    let periods = 0;
    try {
      // If closings stopped the traffic, this loop would not end and the test would time out.
      for (let closings = 0; closings < 3 || ended.pairs < 4n; closings += 1) {
        periods += (await closeUntil(backend, new Date().toISOString(), { id: "busy" })).length;
        expect(await brokenSettlement(backend)).toEqual([]);
      }
    } finally {
      over.abort();
    }
    await running;
    expect(periods).toBe(1);
    expect(await balanceOf(backend, "busy")).toMatchObject({
      accruedMicroUsd: ended.pairs * 3n,
      payableMicroUsd: 5n,
    });
  });

  test("succeeds in the end after a deadlock with running traffic", async () => {
    await journal.write([{ provider: "crossed", closed: "2026-01-01T05:00Z", cost: 5_999_999n }]);
    await journal.write([{ provider: "crossed", closed: "2026-01-01T06:00Z", cost: 5_999_999n }]);
    const touch = "update account set debits = debits where account_id = $1";
    // `traffic` locks the rounding account, which otherwise the first period that needs it makes.
    await backend.query("insert into account values ('rounding') on conflict do nothing");
    const traffic = await openTransaction(backend, touch, ["rounding"]);
    const closing = closeUntil(backend, "2026-01-02T00:00Z", { id: "crossed" });
    await expect
      .poll(() =>
        backend.query(`select from pg_stat_activity where wait_event_type = 'Lock'
          and datname = current_database() and query like '%move_between_platform_accounts%'`),
      )
      .toHaveLength(1);
    await traffic.query(touch, ["accrual:crossed"]).catch(() => undefined);
    await traffic.query("rollback");
    await traffic.end();
    expect(await closing).toHaveLength(1);
    expect(await balanceOf(backend, "crossed")).toMatchObject({ payableMicroUsd: 11n });
  });

  test("makes no period and no account for a provider without an attempt, and changes nothing when it is repeated", async () => {
    expect(await closeUntil(backend, "2026-03-01T00:00Z", { id: "nobody" })).toEqual([]);
    expect(await backend.settlementStore.balances("nobody")).toEqual([]);
    await journal.write([{ provider: "failing", closed: "2026-01-01T05:00Z", cost: "void" }]);
    const [period] = await closeUntil(backend, "2026-03-01T00:00Z", { id: "failing" });
    expect(period).toMatchObject({ payableMicroUsd: 0n, sums: { attempts: 1n, voids: 1n } });
    const tables = ["provider_period", "provider_period_line", "transfer", "account"];
    const read = (): Promise<unknown> =>
      Promise.all(tables.map((each) => backend.query(`select * from ${each} order by 1, 2`)));
    const before = await read();
    for (const until of ["2026-01-01T00:00Z", "2026-03-01T00:00Z", "2026-03-05T00:00Z"]) {
      expect(await closeUntil(backend, until, { id: "failing" })).toEqual([]);
    }
    expect(await read()).toEqual(before);
  });

  test("closes all providers together, each by its terms and from its last period", async () => {
    await journal.write([{ provider: "first", closed: "2026-01-01T05:00Z", cost: 1_000_000n }]);
    await closeUntil(backend, "2026-01-02T00:00Z", { id: "first" });
    await journal.write([
      { provider: "first", closed: "2026-01-03T05:00Z", cost: 2_000_000n },
      { provider: "second", closed: "2026-01-01T05:00Z", cost: 4_000_000n },
      { provider: "second", closed: "2026-01-03T05:00Z", cost: 8_000_000n },
    ]);
    const listed = new Map([
      ["first", { mode: "arrears", interval: "half_daily" }],
      ["second", { mode: "prepaid", interval: "weekly" }],
    ] as const);
    const untilMs = Date.parse("2026-01-07T00:00Z");
    const store = backend.settlementStore;
    const { closed } = await store.closeDuePeriods({ listed, untilMs }, testOperator);
    const ours = closed
      .map(({ period }) => period)
      .filter(({ providerId }) => ["first", "second"].includes(providerId));
    expect(ours.map((each) => [each.providerId, each.mode, each.payableMicroUsd])).toEqual([
      ["first", "arrears", 2n],
      ["second", "prepaid", 12n],
    ]);
    expect(spansOf(ours)).toEqual([
      "2026-01-03T00:00 2026-01-03T12:00",
      "2025-12-29T00:00 2026-01-05T00:00",
    ]);
  });

  test("keeps the terms of the last period for an unlisted provider, or settles it monthly", async () => {
    await journal.write([{ provider: "unlisted", closed: "2026-01-10T01:00Z", cost: 1n }]);
    const closeUnlisted = (until: string) => {
      const due = { listed: new Map(), providerId: "unlisted", untilMs: Date.parse(until) };
      return backend.settlementStore.closeDuePeriods(due, testOperator);
    };
    expect(await closeUnlisted("2026-01-31T00:00Z")).toMatchObject({ closed: [], unlisted: [] });
    const first = await closeUnlisted("2026-02-01T00:00Z");
    expect(first.closed[0]?.period).toMatchObject({ mode: "arrears", interval: "monthly" });
    expect(first.unlisted).toEqual([{ providerId: "unlisted", termsFrom: "default" }]);
    await journal.write([{ provider: "unlisted", closed: "2026-02-10T01:00Z", cost: 1n }]);
    const second = await closeUnlisted("2026-03-01T00:00Z");
    expect(second.unlisted).toEqual([{ providerId: "unlisted", termsFrom: "last_period" }]);
  });

  test("closes no period that is not over, even when it is asked for a time in the future", async () => {
    await journal.write([{ provider: "today", cost: 1n }]);
    const far = new Date(Date.now() + 90 * 86_400_000).toISOString();
    expect(await closeUntil(backend, far, { id: "today", every: "monthly" })).toEqual([]);
  });
});

describe("the money owed to a provider", () => {
  test("below a micro-dollar is carried into the next period until a whole micro-dollar is owed", async () => {
    const days = ["2026-02-01", "2026-02-02", "2026-02-03"];
    await journal.write(
      days.flatMap((day) => [
        { provider: "tiny", closed: `${day}T05:00Z`, cost: 1n },
        { provider: "tiny", closed: `${day}T06:00Z`, cost: 400_000n },
      ]),
    );
    const closed = await closeUntil(backend, "2026-03-01T00:00Z", { id: "tiny" });
    expect(closed.map(({ payableMicroUsd }) => payableMicroUsd)).toEqual([0n, 0n, 1n]);
    expect(closed.at(-1)?.carryOutPicoUsd).toBe(200_003n);
    expect(closed.every((each) => each.sums.debitMicroUsd === 0n)).toBe(true);
    const owed = await balanceOf(backend, "tiny");
    expect(owed).toMatchObject({ accruedMicroUsd: 0n, payableMicroUsd: 1n });
  });

  test("of more than a thousand periods is listed whole where no limit is asked for", async () => {
    const store = backend.settlementStore;
    await journal.write([{ provider: "many", closed: "2026-01-01T05:00Z", cost: 1n }]);
    await closeUntil(backend, "2026-01-02T00:00Z", { id: "many" });
    await tamper(
      backend,
      `insert into provider_period
       select (jsonb_populate_record(p, jsonb_build_object(
         'start_at', p.start_at - n * interval '1 day', 'end_at', p.end_at - n * interval '1 day',
         'after_end_at', p.start_at - n * interval '1 day'))).*
       from provider_period p, generate_series(1, 1000) n where provider_id = 'many'`,
    );
    expect(await store.periods("many")).toHaveLength(1_001);
    expect(await store.periods("many", 200)).toHaveLength(200);
    const first = "start_at < '2026-01-01T00:00Z'";
    await tamper(backend, `delete from provider_period where provider_id = 'many' and ${first}`);
  });

  test("for a prepaid period is taken from the deposit, which may become negative", async () => {
    const of = { id: "prepaid", mode: "prepaid" } as const;
    const store = backend.settlementStore;
    const paidIn = { providerId: of.id, amountMicroUsd: microUsd(100n), ref: "deposit-1" };
    const put = await store.deposit(paidIn, testOperator);
    expect(put).toMatchObject({ created: true, balance: { depositMicroUsd: 100n } });
    expect(await store.deposit(paidIn, testOperator)).toMatchObject({ created: false });
    const other = store.deposit({ ...paidIn, amountMicroUsd: microUsd(101n) }, testOperator);
    await expect(other).rejects.toMatchObject({ kind: "ref_taken" });
    await journal.write([
      { provider: of.id, closed: "2026-01-01T05:00Z", cost: 30_000_000n },
      { provider: of.id, closed: "2026-01-02T05:00Z", cost: 80_000_000n },
    ]);
    const closed = await closeUntil(backend, "2026-01-03T00:00Z", of);
    expect(closed.map((each) => each.payableMicroUsd)).toEqual([30n, 80n]);
    const owed = { accruedMicroUsd: 0n, payableMicroUsd: 0n, depositMicroUsd: -10n };
    expect(await balanceOf(backend, of.id)).toMatchObject(owed);
    const startMs = Date.parse("2026-01-01T00:00Z");
    const payment = store.pay({ providerId: of.id, startMs, ref: "pay-1" }, testOperator);
    await expect(payment).rejects.toMatchObject({ kind: "nothing_to_pay" });
  });

  test("for a period in arrears is paid in full and once, under one reference", async () => {
    const store = backend.settlementStore;
    await journal.write([
      { provider: "owed", closed: "2026-01-01T05:00Z", cost: 30_000_000n },
      { provider: "owed", closed: "2026-01-02T05:00Z", cost: 30_000_000n },
      { provider: "owed", closed: "2026-01-03T05:00Z", cost: 0n },
    ]);
    const [first, second, third] = await closeUntil(backend, "2026-01-04T00:00Z", { id: "owed" });
    const pay = (startMs = 7, ref = "wire-1"): ReturnType<typeof store.pay> =>
      store.pay({ providerId: "owed", startMs, ref }, testOperator);
    const paid = await Promise.all([1, 2, 3].map(() => pay(first?.startMs)));
    expect(paid.filter(({ created }) => created)).toHaveLength(1);
    const shown = await store.statement({ providerId: "owed", startMs: first?.startMs ?? 0 });
    expect(shown?.period.payment).toMatchObject({ ref: "wire-1" });
    for (const [startMs, ref, kind] of [
      [first?.startMs, "wire-2", "paid_before"],
      [second?.startMs, "wire-1", "ref_taken"],
      [third?.startMs, "wire-3", "nothing_to_pay"],
      [7, "wire-3", "no_such_period"],
    ] as const) {
      await expect(pay(startMs, ref)).rejects.toMatchObject({ kind });
    }
    expect(await balanceOf(backend, "owed")).toMatchObject({ payableMicroUsd: 30n });
    const refs = (await store.periods("owed")).map(({ payment }) => payment?.ref);
    expect(refs).toEqual([undefined, undefined, "wire-1"]);
  });
});

describe("an attempt that spans two periods", () => {
  test("is counted in the period in which it was closed, and marked late", async () => {
    const [eve, midnight] = ["2026-01-01T23:59:59.999Z", "2026-01-02T00:00Z"];
    const [late, punctual] = await journal.write([
      { provider: "late", admitted: eve, closed: midnight, cost: 3_000_000n },
      { provider: "late", admitted: midnight, closed: "2026-01-02T01:00Z", cost: 1n },
    ]);
    const [period] = await closeUntil(backend, "2026-01-03T00:00Z", { id: "late" });
    expect(period).toMatchObject({
      startMs: Date.parse(midnight),
      sums: { attempts: 2n },
      late: { attempts: 1n, costPicoUsd: 3_000_000n, corrections: 0n },
    });
    expect(await entriesOf(backend, period)).toEqual([
      expect.objectContaining({ attemptId: late, isLate: true, isCorrected: false }),
      expect.objectContaining({ attemptId: punctual, isLate: false }),
    ]);
  });

  test("is listed but not owed while its end is unknown, and owed once it is observed", async () => {
    const id = "crashed";
    const [seen, unseen, none] = await journal.write([
      { provider: id, closed: "2026-01-01T05:00Z", cost: "unknown", reserveMicroUsd: 100n },
      { provider: id, closed: "2026-01-01T06:00Z", cost: "unknown", reserveMicroUsd: 50n },
      { provider: id, closed: "2026-01-01T07:00Z", cost: "unknown", reserveMicroUsd: 70n },
      { provider: id, closed: "2026-01-01T08:00Z", cost: 2_000_000n },
    ]);
    if (seen === undefined || none === undefined) throw new Error("not written");
    const [first] = await closeUntil(backend, "2026-01-02T00:00Z", { id });
    expect(first).toMatchObject({
      payableMicroUsd: 2n,
      sums: { attempts: 4n, settled: 1n, unknowns: 3n, unknownMicroUsd: 220n, debitMicroUsd: 2n },
    });
    expect((await balanceOf(backend, id)).unknownMicroUsd).toBe(220n);
    const corrected = { costPicoUsd: 130_500_000n, debitMicroUsd: 100n, overrunMicroUsd: 30n };
    await journal.correct(seen, "2026-01-02T05:00Z", { cost: 130_500_000n });
    await journal.correct(none, "2026-01-02T05:00Z", { cost: "void" });
    const unknown = { state: "unknown_after_crash", basis: "unknown_after_crash" };
    const nothing = { usage: null, costPicoUsd: null, overrunMicroUsd: 0n, isCorrected: false };
    const charged = { ...unknown, ...nothing };
    expect(await entriesOf(backend, first)).toMatchObject([
      { attemptId: seen, ...charged, debitMicroUsd: 100n },
      { attemptId: unseen, ...charged, debitMicroUsd: 50n },
      { attemptId: none, ...charged, debitMicroUsd: 70n },
      { state: "settled", costPicoUsd: 2_000_000n },
    ]);
    const [second] = await closeUntil(backend, "2026-01-03T00:00Z", { id });
    const late = { attempts: 0n, corrections: 2n, correctedPicoUsd: 130_500_000n };
    expect(second).toMatchObject({
      payableMicroUsd: 130n,
      sums: { ...late, ...corrected, resolvedMicroUsd: 170n },
      late,
    });
    expect(await entriesOf(backend, second)).toMatchObject([
      { attemptId: seen, basis: "reported", ...corrected, isLate: true, isCorrected: true },
      { attemptId: none, usage: null, costPicoUsd: 0n, isCorrected: true },
    ]);
    expect(await balanceOf(backend, id)).toMatchObject({
      accruedMicroUsd: 0n,
      payableMicroUsd: 132n,
      unknownMicroUsd: 50n,
    });
  });
});

describe("a closed period", () => {
  const id = "frozen";
  const startMs = Date.parse("2026-01-01T00:00Z");

  beforeAll(async () => {
    const two = { provider: id, closed: "2026-01-01T06:00Z", model: "a/two" };
    await journal.write([
      { provider: id, closed: "2026-01-01T05:00Z", cost: 5_400_000n, model: "a/one" },
      { ...two, cost: 5_400_000n },
      { ...two, admitted: "2025-12-31T06:00Z", cost: 1n, upstreamModel: "two-b" },
      { provider: id, closed: "2026-01-02T05:00Z", cost: 1n },
    ]);
    await closeUntil(backend, "2026-01-03T00:00Z", { id });
  });

  test("is read back line by line as it was closed", async () => {
    const statement = await backend.settlementStore.statement({ providerId: id, startMs });
    expect(statement?.period).toMatchObject({ providerId: id, startMs, payableMicroUsd: 10n });
    const lines = statement?.lines.map((line) => [
      new Date(line.admittedDayMs).toISOString().slice(0, 10),
      line.modelId,
      line.upstreamModelId,
      line.sums.costPicoUsd,
    ]);
    expect(lines).toEqual([
      ["2025-12-31", "a/two", "two-b", 1n],
      ["2026-01-01", "a/one", "small-2026", 5_400_000n],
      ["2026-01-01", "a/two", "small-2026", 5_400_000n],
    ]);
    const unknown = { providerId: id, startMs: startMs + 1 };
    expect(await backend.settlementStore.statement(unknown)).toBeUndefined();
  });

  test("stores the comparison with the provider's own statement once per file", async () => {
    const comparison = {
      theirPicoUsd: 9n as never,
      ourPicoUsd: 10_800_001n as never,
      lines: { compared: 3, differing: 1, onlyTheirs: 0, onlyOurs: 2, unknownClaimed: 0 },
    };
    const totals = { ...comparison, lines: null };
    const of = { providerId: id, startMs };
    const store = backend.settlementStore;
    for (const [file, found] of [
      [1, comparison],
      [1, comparison],
      [2, totals],
    ] as const) {
      const sha256 = Buffer.alloc(32, file);
      await store.recordClaim({ ...of, sha256, comparison: found }, testOperator);
    }
    expect((await store.statement(of))?.claims).toMatchObject([comparison, totals]);
  });

  test.each([
    "update provider_period set payable = payable + 1",
    "delete from provider_period_line",
    "truncate provider_period cascade",
    "update provider_payment set ref = 'x'",
    "delete from provider_statement",
  ])("cannot be rewritten: %s", async (sql) => {
    await expect(backend.query(sql)).rejects.toThrow("never changed");
  });

  test.each([
    ["a second period with the same start", "start_at", "after_end_at", "_pkey"],
    ["an overlapping period", "start_at + interval '1 hour'", "after_end_at", "after_end_at_key"],
    ["a period before its predecessor", "start_at - interval '9 day'", "after_end_at", "_check"],
    ["a period without a predecessor", "end_at", "end_at - interval '1 hour'", "after_end_at_fkey"],
  ])("cannot have %s beside it", async (_, start, after, rule) => {
    const insert = `
      insert into provider_period select (jsonb_populate_record(p, jsonb_build_object(
        'start_at', ${start}, 'end_at', ${start} + interval '1 day', 'after_end_at', ${after}))).*
      from provider_period p where provider_id = '${id}' and after_end_at is not null`;
    await expect(backend.query(insert)).rejects.toThrow(rule);
  });

  test.each([
    ["its amount", "update provider_period set payable = payable + 1, rounding = rounding + 1"],
    ["its carry-in", "update provider_period set carry_in_pico = 1 where after_end_at is null"],
    ["its end", "update provider_period set end_at = end_at + interval '1 year'"],
    ["a missing line", "delete from provider_period_line where model_id = 'a/one'"],
    ["the day of a line", "update provider_period_line set admitted_on = admitted_on - 1"],
    ["an attempt's cost", "update attempt set cost_pico = cost_pico + 1 where model_id = 'a/one'"],
    ["a closing time", "update attempt set closed_at = '2026-03-01' where model_id = 'a/one'"],
    ["a missing attempt", "delete from attempt where model_id = 'a/one'"],
    ["the amount of a transfer", "update transfer set amount = amount + 1 where kind = 'period'"],
    ["a missing payment", "delete from provider_payment"],
    ["the settlement horizon", "update settlement_horizon set through = '2020-01-01'"],
    ["the accrual", "update account set credits = credits + 1 where account_id like 'accrual:%'"],
    ["the provider's progress", "update provider_progress set through = '2100-01-01'"],
    [
      "an added retired day",
      `insert into retired_day (day, from_id, to_id, attempts, debit, overrun, cost_pico, file,
        sha256, signature) values ('2026-01-01', 0, 0, 1, 0, 0, 0, '', '', '')`,
    ],
  ])("with damaged records is found by the audit: %s", async (_, sql) => {
    await journal.write([{ provider: id, cost: 1n }]);
    await backend.query("begin");
    try {
      await backend.query("alter table provider_period drop constraint period_owes_the_exact_sum");
      await tamper(backend, sql);
      expect(await brokenSettlement(backend)).not.toEqual([]);
    } finally {
      await backend.query("rollback");
    }
  });
});
