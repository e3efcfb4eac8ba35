import { beforeAll, describe, expect, test } from "vitest";
import { microUsd } from "../../src/kernel/core/money.ts";
import { balanceOf, closeUntil, entriesOf } from "../support/settlement-books.ts";
import { brokenSettlement, withSettlementBooks } from "../support/settlement-journal.ts";
import { tamper } from "../support/postgres.ts";
import { testOperator } from "../support/test-operator.ts";

const { backend, journal } = withSettlementBooks();

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
    expect(await store.deposit(paidIn, testOperator)).toMatchObject({
      created: true,
      balance: { depositMicroUsd: 100n },
    });
    expect(await store.deposit(paidIn, testOperator)).toMatchObject({ created: false });
    const other = store.deposit({ ...paidIn, amountMicroUsd: microUsd(101n) }, testOperator);
    await expect(other).rejects.toMatchObject({ kind: "ref_taken" });
    await journal.write([
      { provider: of.id, closed: "2026-01-01T05:00Z", cost: 30_000_000n },
      { provider: of.id, closed: "2026-01-02T05:00Z", cost: 80_000_000n },
    ]);
    const closed = await closeUntil(backend, "2026-01-03T00:00Z", of);
    expect(closed.map((each) => each.payableMicroUsd)).toEqual([30n, 80n]);
    expect(await balanceOf(backend, of.id)).toMatchObject({
      accruedMicroUsd: 0n,
      payableMicroUsd: 0n,
      depositMicroUsd: -10n,
    });
    const period = { providerId: of.id, startMs: Date.parse("2026-01-01T00:00Z") };
    await expect(store.pay({ ...period, ref: "pay-1" }, testOperator)).rejects.toMatchObject({
      kind: "nothing_to_pay",
    });
  });

  test("for a period in arrears is paid in full and once, under one reference", async () => {
    const store = backend.settlementStore;
    await journal.write([
      { provider: "owed", closed: "2026-01-01T05:00Z", cost: 30_000_000n },
      { provider: "owed", closed: "2026-01-02T05:00Z", cost: 30_000_000n },
      { provider: "owed", closed: "2026-01-03T05:00Z", cost: 0n },
    ]);
    const [first, second, third] = await closeUntil(backend, "2026-01-04T00:00Z", { id: "owed" });
    if (first === undefined || second === undefined || third === undefined) throw new Error("no");
    const pay = (startMs: number, ref: string): ReturnType<typeof store.pay> =>
      store.pay({ providerId: "owed", startMs, ref }, testOperator);
    const paid = await Promise.all([1, 2, 3].map(() => pay(first.startMs, "wire-1")));
    expect(paid.filter(({ created }) => created)).toHaveLength(1);
    expect((await store.statement(first))?.period.payment).toMatchObject({ ref: "wire-1" });
    await expect(pay(first.startMs, "wire-2")).rejects.toMatchObject({ kind: "paid_before" });
    await expect(pay(second.startMs, "wire-1")).rejects.toMatchObject({ kind: "ref_taken" });
    await expect(pay(third.startMs, "wire-3")).rejects.toMatchObject({ kind: "nothing_to_pay" });
    await expect(pay(7, "wire-3")).rejects.toMatchObject({ kind: "no_such_period" });
    expect(await balanceOf(backend, "owed")).toMatchObject({ payableMicroUsd: 30n });
    expect((await store.periods("owed")).map(({ payment }) => payment?.ref)).toEqual([
      undefined,
      undefined,
      "wire-1",
    ]);
  });
});

describe("an attempt that spans two periods", () => {
  test("is counted in the period in which it was closed, and marked late", async () => {
    const [late, punctual] = await journal.write([
      {
        provider: "late",
        admitted: "2026-01-01T23:59:59.999Z",
        closed: "2026-01-02T00:00Z",
        cost: 3_000_000n,
      },
      { provider: "late", admitted: "2026-01-02T00:00Z", closed: "2026-01-02T01:00Z", cost: 1n },
    ]);
    const [period] = await closeUntil(backend, "2026-01-03T00:00Z", { id: "late" });
    expect(period).toMatchObject({
      startMs: Date.parse("2026-01-02T00:00Z"),
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
    const [seen, unseen, void_] = await journal.write([
      { provider: id, closed: "2026-01-01T05:00Z", cost: "unknown", reserveMicroUsd: 100n },
      { provider: id, closed: "2026-01-01T06:00Z", cost: "unknown", reserveMicroUsd: 50n },
      { provider: id, closed: "2026-01-01T07:00Z", cost: "unknown", reserveMicroUsd: 70n },
      { provider: id, closed: "2026-01-01T08:00Z", cost: 2_000_000n },
    ]);
    if (seen === undefined || void_ === undefined) throw new Error("not written");
    const [first] = await closeUntil(backend, "2026-01-02T00:00Z", { id });
    expect(first).toMatchObject({
      payableMicroUsd: 2n,
      sums: { attempts: 4n, settled: 1n, unknowns: 3n, unknownMicroUsd: 220n, debitMicroUsd: 2n },
    });
    expect((await balanceOf(backend, id)).unknownMicroUsd).toBe(220n);
    await journal.correct(seen, "2026-01-02T05:00Z", { cost: 130_500_000n });
    await journal.correct(void_, "2026-01-02T05:00Z", { cost: "void" });
    expect(await entriesOf(backend, first)).toEqual([
      expect.objectContaining({
        attemptId: seen,
        state: "unknown_after_crash",
        basis: "unknown_after_crash",
        usage: null,
        costPicoUsd: null,
        debitMicroUsd: 100n,
        overrunMicroUsd: 0n,
        isCorrected: false,
      }),
      expect.objectContaining({ attemptId: unseen, costPicoUsd: null, debitMicroUsd: 50n }),
      expect.objectContaining({ attemptId: void_, costPicoUsd: null, debitMicroUsd: 70n }),
      expect.objectContaining({ state: "settled", costPicoUsd: 2_000_000n }),
    ]);
    const [second] = await closeUntil(backend, "2026-01-03T00:00Z", { id });
    expect(second).toMatchObject({
      payableMicroUsd: 130n,
      sums: {
        attempts: 0n,
        corrections: 2n,
        resolvedMicroUsd: 170n,
        correctedPicoUsd: 130_500_000n,
        costPicoUsd: 130_500_000n,
        debitMicroUsd: 100n,
        overrunMicroUsd: 30n,
      },
      late: { attempts: 0n, corrections: 2n, correctedPicoUsd: 130_500_000n },
    });
    expect(await entriesOf(backend, second)).toEqual([
      expect.objectContaining({
        attemptId: seen,
        basis: "reported",
        costPicoUsd: 130_500_000n,
        debitMicroUsd: 100n,
        overrunMicroUsd: 30n,
        isLate: true,
        isCorrected: true,
      }),
      expect.objectContaining({
        attemptId: void_,
        usage: null,
        costPicoUsd: 0n,
        isCorrected: true,
      }),
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
    await journal.write([
      { provider: id, closed: "2026-01-01T05:00Z", cost: 5_400_000n, model: "a/one" },
      { provider: id, closed: "2026-01-01T06:00Z", cost: 5_400_000n, model: "a/two" },
      {
        provider: id,
        admitted: "2025-12-31T06:00Z",
        closed: "2026-01-01T06:00Z",
        cost: 1n,
        model: "a/two",
        upstreamModel: "two-b",
      },
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
    const of = { providerId: id, startMs, sha256: Buffer.alloc(32, 1), comparison };
    await backend.settlementStore.recordClaim(of, testOperator);
    await backend.settlementStore.recordClaim(of, testOperator);
    const totals = { ...comparison, lines: null };
    await backend.settlementStore.recordClaim(
      {
        ...of,
        sha256: Buffer.alloc(32, 2),
        comparison: totals,
      },
      testOperator,
    );
    const statement = await backend.settlementStore.statement(of);
    expect(statement?.claims).toEqual([
      expect.objectContaining(comparison),
      expect.objectContaining(totals),
    ]);
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
