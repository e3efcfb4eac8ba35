import { expect, test } from "vitest";

import { createRequestId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import type { Day } from "../../src/ledger/retention/retention-tally.ts";
import { brokenBooks } from "../support/books.ts";
import { closeRow } from "../support/ledger-rows.ts";
import { tamper } from "../support/postgres.ts";
import { dayOf, retirementOf, withOldBooks } from "../support/old-days.ts";

const REFUSED = 70;
const today = dayOf(new Date(systemClock.nowMs()).toISOString().slice(0, 10));
const books = withOldBooks();
const { run } = retirementOf(books);

/** Refuses 70 requests in the day's last minute: 60 become rows, ten are only counted. */
async function refuseOn(day: Day): Promise<void> {
  const atMs = Date.parse(`${day}T23:59:30Z`);
  const refused = Array.from({ length: REFUSED }, () => ({
    ...books.org,
    requestId: createRequestId(atMs),
    modelId: null,
    route: "/v1/messages",
    stream: false,
    errorClass: "invalid_request" as const,
    createdAtMs: atMs,
  }));
  await books.backend.ledgerBatchStore.recordRefusedBatch(refused, []);
}

async function expectDays(...days: readonly Day[]): Promise<void> {
  for (const column of ["refused_request.created_at", "refused_minute.minute"]) {
    const rows = await books.backend.query(
      `select distinct to_char(${column} at time zone 'utc', 'YYYY-MM-DD') as day
      from ${column.split(".")[0]} order by day`,
    );
    expect(rows).toEqual(days.map((day) => ({ day })));
  }
}

test("refused requests are deleted with the attempts of their day, and not earlier", async () => {
  const [settled, open] = [dayOf("2025-04-10"), dayOf("2025-04-12")];
  await books.fill(settled);
  await books.settle();
  const attempt = await books.hold(open);
  for (const day of [settled, open, today]) await refuseOn(day);

  const first = await run();
  expect(first).toMatchObject({ stopped: { day: open }, refusedRequests: REFUSED });
  await expectDays(open, today);

  await books.close(closeRow(attempt, 7n));
  await books.settle();
  expect(await run()).toMatchObject({ stopped: undefined, refusedRequests: REFUSED });
  await expectDays(today);
  const { orgId } = books.org;
  const always = { orgId, fromMs: 0, toMs: systemClock.nowMs() + 86_400_000 };
  const report = await books.backend.usageReports.report(always, "status");
  expect(report.totals.requests).toBe(REFUSED);
});

test("days of spend that no cap needs are deleted, and caps and audits stay the same", async () => {
  const { backend, org } = books;
  const spendNow = async (cost: bigint): Promise<void> =>
    books.close(closeRow(await books.hold(today), cost));
  /** Dates the present attempts and their spend `days` days back. */
  const earlier = async (days: number): Promise<void> => {
    await tamper(backend, "update spend_day set day = day - $1::integer", [days]);
    await tamper(
      backend,
      "update attempt set created_at = created_at - make_interval(days => $1) where key_id = $2",
      [days, org.keyId],
    );
  };
  const daysAgo = async (): Promise<unknown[]> =>
    await backend.query(
      `select (now() at time zone 'utc')::date - day as ago, settled::integer as settled
      from spend_day order by day`,
    );
  const cap = "update api_key set cap_week_micro_usd = 2000 where key_id = $1";
  await backend.query(cap, [org.keyId]);
  await spendNow(320n);
  await earlier(7);
  await spendNow(410n);
  await earlier(7);
  await spendNow(500n);
  const [old, before, now] = [
    { ago: 14, settled: 320 },
    { ago: 7, settled: 410 },
    { ago: 0, settled: 500 },
  ];
  expect(await daysAgo()).toEqual([old, before, now]);
  await backend.query(
    "insert into retired_spend_day select $1::date, $2, $1::date, 1 from retired_day limit 1",
    [dayOf("2025-04-10"), org.keyId],
  );

  expect(await run()).toMatchObject({ pastSpendDays: 2 });
  expect(await daysAgo()).toEqual([before, now]);
  expect(await backend.query("select from retired_spend_day")).toEqual([]);
  expect(await run()).toMatchObject({ pastSpendDays: 0 });
  expect(await brokenBooks(books)).toEqual([]);
  // 500 are settled and 1,000 are held, so exactly 500 of the cap of 2,000 are left.
  await books.hold(today);
  const refused = books.hold(today, { reserveMicroUsd: microUsd(501n) });
  await expect(refused).rejects.toThrow("not reserved: cap");
  await books.hold(today, { reserveMicroUsd: microUsd(500n) });
});
