import { beforeAll, expect, test } from "vitest";

import { PARTITION_DAYS_AHEAD } from "../../src/kernel/core/constants.ts";
import type { AttemptId } from "../../src/kernel/core/ids.ts";
import { OPEN_HOLDS_SQL } from "../support/books.ts";
import { orgWithKey, reserveRow } from "../support/ledger-rows.ts";
import { withPricedBackend } from "../support/postgres.ts";

const backend = withPricedBackend();

beforeAll(async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  const { ledgerBatchStore: store } = backend;
  await store.maintain();
  const member = await store.join("one", 10_000);
  const rows = [1n, 2n].map((id) => reserveRow({ ...org, attemptId: id as AttemptId }, 40n));
  await store.hold(member, ...rows);
  await backend.query("update hold set created_at = now() - interval '90 s' where attempt_id = 1");
});

test("the figures of the books show the number and age of open attempts, and the partitions", async () => {
  const figures = await backend.readBooksFigures();
  expect(figures).toMatchObject({
    openAttempts: 2,
    partitionsAhead: PARTITION_DAYS_AHEAD,
    // Yesterday's partition, which exists from the start, and that of the journal's first day.
    partitionsUnsummed: 2,
    unclosedPeriods: 0,
    owedMicroUsd: 0n,
  });
  expect(figures.lastAudit).toBeUndefined();
  expect(figures.oldestOpenSeconds).toBeGreaterThanOrEqual(90);
  await backend.query(
    "insert into usage_day (day, is_done) select (now() at time zone 'utc')::date - 1, true",
  );
  expect((await backend.readBooksFigures()).partitionsUnsummed).toBe(1);
});

test("an attempt that was annulled before its hold arrived does not count as open", async () => {
  const openBefore = await backend.query(OPEN_HOLDS_SQL);
  const { openAttempts } = await backend.readBooksFigures();
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  const attemptId = 3n as AttemptId;
  await backend.ledgerBatchStore.annul([reserveRow({ ...org, attemptId }, 40n)]);
  expect(await backend.query("select from hold where annulled")).toHaveLength(1);
  expect(await backend.query(OPEN_HOLDS_SQL)).toHaveLength(openBefore.length);
  expect((await backend.readBooksFigures()).openAttempts).toBe(openAttempts);
});

test("the debt of all organizations is one figure in micro-dollars", async () => {
  await backend.query(
    "insert into account (account_id, owed) values ('wallet:test-one', 7), ('wallet:test-two', 5)",
  );
  expect((await backend.readBooksFigures()).owedMicroUsd).toBe(12n);
  await backend.query("delete from account where account_id like 'wallet:test-%'");
});

test("the last audit is stored with its number of violations, and a later audit replaces it", async () => {
  await backend.query("update account set credits = credits + 1 where account_id like 'wallet:%'");
  await backend.audit();
  const broken = (await backend.readBooksFigures()).lastAudit;
  expect(broken?.violations).toBeGreaterThan(0);
  await backend.query("update account set credits = credits - 1 where account_id like 'wallet:%'");
  await backend.audit();
  const clean = (await backend.readBooksFigures()).lastAudit;
  expect(clean?.violations).toBe(0);
  expect(clean?.endedAtMs).toBeGreaterThan(broken?.endedAtMs ?? Infinity);
});

/** Makes a provider with one empty period that ended `hoursAgo` hours ago, and no later one. */
async function closedProvider(providerId: string, every: string, hoursAgo: number): Promise<void> {
  const sums = `attempts settled voids unknowns unknown_charge corrections resolved_charge prompt
    cached_prompt cache_write completion internal_reasoning cost_pico corrected_pico debit overrun
    late_attempts late_pico late_corrections late_corrected_pico carry_in_pico carry_out_pico
    rounding payable`.split(/\s+/);
  const end = `now() - interval '${hoursAgo} hours'`;
  await backend.query(
    `insert into provider_period (provider_id, start_at, end_at, mode, every, ${sums.join(", ")})
    values ($1, ${end} - interval '1 hour', ${end}, 'arrears', $2, ${sums.map(() => 0).join(", ")})`,
    [providerId, every],
  );
  await backend.query(`insert into provider_progress (provider_id, through) values ($1, ${end})`, [
    providerId,
  ]);
}

/** Makes a provider that was first used `hoursAgo` hours ago and has no closed period. */
async function usedProvider(providerId: string, hoursAgo: number): Promise<void> {
  await backend.query(
    `insert into price_pin (pin_id, provider_id, model_id, prompt_pico, cached_prompt_pico,
      cache_write_pico, completion_pico, internal_reasoning_pico, first_used_at)
    values ($1, $1, 'm', 1, 1, 1, 1, 1, now() - interval '${hoursAgo} hours')`,
    [providerId],
  );
}

test("a provider's period counts as late 36 hours after its end, for every settlement interval", async () => {
  const late = async (): Promise<number> => (await backend.readBooksFigures()).unclosedPeriods;
  await closedProvider("daily-in-time", "daily", 24 + 35);
  await closedProvider("monthly-in-time", "monthly", 24 + 37);
  expect(await late()).toBe(0);
  await closedProvider("daily-late", "daily", 24 + 37);
  await closedProvider("half-daily-late", "half_daily", 12 + 37);
  expect(await late()).toBe(2);
  await usedProvider("never-closed-yet", 24 * 28);
  expect(await late()).toBe(2);
  await usedProvider("never-closed", 24 * 31 + 37);
  expect(await late()).toBe(3);
});

test("reading the figures of the books ends in a statement timeout while a table is locked", async () => {
  await backend.query("begin");
  await backend.query("lock table hold in access exclusive mode");
  await expect(backend.readBooksFigures()).rejects.toThrow(/statement timeout/);
  await backend.query("rollback");
});
