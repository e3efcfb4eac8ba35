import { expect, test } from "vitest";

import type { ReportFilter } from "../../src/gateway/records/request-rows.ts";
import { KEYS_PER_ORG_MAX } from "../../src/kernel/core/constants.ts";
import { createRequestId, type KeyId, type OrgId } from "../../src/kernel/core/ids.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import type { Ledger, RefusedRequest } from "../../src/ledger/ledger-store.ts";
import { keyOf, orgWithKey } from "../support/ledger-rows.ts";
import { withLedger, withPricedBackend } from "../support/postgres.ts";

const MINUTE_MS = 60_000;
const REFUSED = 5_000;
const PATIENCE = { timeout: 10_000, interval: 20 };

const backend = withPricedBackend();
const ledger = withLedger(backend, "main");
const peer = withLedger(backend, "peer");

interface Owner {
  readonly orgId: OrgId;
  readonly keyId: KeyId;
}

/** The start of the previous whole minute, in milliseconds. */
function lastMinuteMs(): number {
  return Math.floor(systemClock.nowMs() / MINUTE_MS - 1) * MINUTE_MS;
}

function refusal(owner: Owner, createdAtMs: number): RefusedRequest {
  return {
    ...owner,
    requestId: createRequestId(createdAtMs),
    modelId: "acme/small",
    route: "/v1/messages",
    stream: false,
    errorClass: "invalid_request",
    createdAtMs,
  };
}

function refuse(by: readonly Ledger[], owner: Owner, minuteMs: number, count: number): void {
  for (let n = 0; n < count; n++) {
    const createdAtMs = minuteMs + n * Math.floor(MINUTE_MS / count);
    by[n % by.length]?.recordRefused(refusal(owner, createdAtMs));
  }
}

async function requestsOf(
  { orgId }: Owner,
  minuteMs: number,
  by: "status" | "key" | "day" | "model",
  filter: Partial<ReportFilter> = {},
): Promise<Record<string, number>> {
  const range = { orgId, fromMs: minuteMs - MINUTE_MS, toMs: minuteMs + 2 * MINUTE_MS, ...filter };
  const { totals, groups } = await backend.usageReports.report(range, by);
  const named = groups.map(({ group, figures }) => [group, figures.requests] as const);
  return { total: totals.requests, ...Object.fromEntries(named) };
}

async function rowsOf({ orgId }: Owner, table: string): Promise<number> {
  const rows = await backend.query(`select count(*) as n from ${table} where org_id = $1`, [orgId]);
  return Number(rows[0]?.["n"]);
}

test("5,000 refused requests of a minute are stored as 60 rows and a count without a model, and reports show 5,000", async () => {
  const owner = await orgWithKey(backend, { creditMicroUsd: 0n });
  const other = await orgWithKey(backend, { creditMicroUsd: 0n });
  const minuteMs = lastMinuteMs();
  const day = new Date(minuteMs).toISOString().slice(0, 10);
  refuse([ledger, peer], owner, minuteMs, REFUSED);
  await expect
    .poll(() => requestsOf(owner, minuteMs, "status"), PATIENCE)
    .toEqual({ total: REFUSED, rejected_by_gateway: REFUSED });
  expect(await rowsOf(owner, "refused_request")).toBe(60);
  expect(await rowsOf(owner, "refused_minute")).toBe(1);
  expect(await requestsOf(owner, minuteMs, "key")).toEqual({
    total: REFUSED,
    [owner.keyId]: REFUSED,
  });
  expect(await requestsOf(owner, minuteMs, "day")).toEqual({ total: REFUSED, [day]: REFUSED });
  const rows = { "acme/small": 60, none: REFUSED - 60 };
  expect(await requestsOf(owner, minuteMs, "model")).toEqual({ total: REFUSED, ...rows });
  const ofModel = { modelIds: ["acme/small"] };
  expect((await requestsOf(owner, minuteMs, "status", ofModel))["total"]).toBe(60);
  expect(await requestsOf(other, minuteMs, "status")).toEqual({ total: 0 });
  const days = await backend.usageReports.keyDays(owner.orgId, owner.keyId, 2);
  expect(days.find((each) => each.day === day)?.requests).toBe(REFUSED);
});

test("the rows of an organization's refused requests in a minute are bounded over all its keys", async () => {
  const first = await orgWithKey(backend, { creditMicroUsd: 0n });
  const others = await Promise.all([1, 2, 3, 4].map(() => keyOf(backend, first.orgId)));
  const minuteMs = lastMinuteMs();
  for (const keyId of [first.keyId, ...others]) {
    refuse([ledger], { ...first, keyId }, minuteMs, 100);
  }
  await expect
    .poll(() => requestsOf(first, minuteMs, "status"), PATIENCE)
    .toEqual({ total: 500, rejected_by_gateway: 500 });
  expect(await rowsOf(first, "refused_request")).toBe(180);
  expect(await rowsOf(first, "refused_minute")).toBeLessThanOrEqual(KEYS_PER_ORG_MAX);
});

test("the reason of a refusal is stored for its organization only", async () => {
  const owner = await orgWithKey(backend, { creditMicroUsd: 0n });
  const other = await orgWithKey(backend, { creditMicroUsd: 0n });
  const createdAtMs = systemClock.nowMs();
  const reason = { status: 429, retryable: false, limit_scope: "org", needed_usd: "0.000123" };
  const refused = { ...refusal(owner, createdAtMs), errorClass: "insufficient_quota" } as const;
  const { requestId } = refused;
  ledger.recordRefused({ ...refused, reason: { ...reason, limit_kind: "spend" } });
  const { recordStore, usageReports } = backend;
  await expect
    .poll(() => recordStore.generation(owner.orgId, requestId), PATIENCE)
    .toMatchObject({ outcome: "refused", refused: { errorClass: "insufficient_quota", reason } });
  expect(await usageReports.request(owner.orgId, requestId)).toMatchObject({
    request: { outcome: "refused", attempts: 0, debitMicroUsd: 0n },
    attempts: [],
    refused: { reason },
  });
  expect(await recordStore.generation(other.orgId, requestId)).toBeUndefined();
  expect(await usageReports.request(other.orgId, requestId)).toBeUndefined();

  const facts = await recordStore.noticeFacts(owner.orgId, createdAtMs);
  expect(facts).toEqual({
    refused: { balance: 1 },
    neededMicroUsd: 123n,
    neededUnderCapMicroUsd: null,
    refusedSinceMs: createdAtMs,
    cappedKeys: [],
    models: [],
  });
  const fromMs = createdAtMs - MINUTE_MS;
  expect(await recordStore.refusedFor(owner.orgId, fromMs)).toEqual([
    { cause: "balance", requests: 1 },
  ]);
  expect(await recordStore.refusedFor(other.orgId, fromMs)).toEqual([]);
});

test("a request that was refused after a wait has the time at which it came, as in the list of requests", async () => {
  const owner = await orgWithKey(backend, { creditMicroUsd: 0n });
  const cameAtMs = lastMinuteMs();
  const refused = { ...refusal(owner, cameAtMs), createdAtMs: cameAtMs + 5_000 };
  ledger.recordRefused(refused);
  await expect
    .poll(() => backend.recordStore.generation(owner.orgId, refused.requestId), PATIENCE)
    .toMatchObject({ outcome: "refused", createdAtMs: cameAtMs });
  const listed = await backend.usageReports.request(owner.orgId, refused.requestId);
  expect(listed?.request.createdAtMs).toBe(cameAtMs);
});

test("caps of a key that are 80% used or held are reported, each with its period", async () => {
  const { orgId, keyId } = await orgWithKey(backend, { creditMicroUsd: 0n });
  await backend.query(
    `update api_key set name = 'ci', cap_day_micro_usd = 10, cap_week_micro_usd = 10,
      cap_micro_usd = 100 where key_id = $1`,
    [keyId],
  );
  await backend.query(
    `insert into spend_day (key_id, day, settled)
    select $1, (now() at time zone 'utc')::date + n, 8 from unnest(array[0, -8, 8]) as n`,
    [keyId],
  );
  await backend.query(
    `insert into spend (scope, id, month, settled, reserved)
    values ('key', $1, date_trunc('month', now() at time zone 'utc'), 77, 2)`,
    [keyId],
  );
  const { cappedKeys } = await backend.recordStore.noticeFacts(orgId, systemClock.nowMs());
  const ci = { keyId, name: "ci", capMicroUsd: 10n, spentMicroUsd: 8n, heldMicroUsd: 2n };
  expect(cappedKeys).toEqual([
    { ...ci, period: "day" },
    { ...ci, period: "week" },
  ]);
});
