import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { AttemptId, KeyId, ModelId, OrgId } from "../../src/core/ids.ts";
import { systemClock } from "../../src/core/time.ts";
import type { Ledger, ReserveRow } from "../../src/ledger/ledger-store.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { orgSlot } from "../../src/limits/limit-store.ts";
import type { RecentCharge } from "../../src/limits/recent-use.ts";
import {
  closeRow,
  keyOf,
  orgWithKey,
  pinPrices,
  reserveRow,
  voidRow,
} from "../support/ledger-rows.ts";
import { freshBackend, type FreshBackend } from "../support/postgres.ts";
import { silentLog } from "../support/silent-log.ts";

let backend: FreshBackend;
let ledger: Ledger;
let orgId: OrgId;
let keyId: KeyId;

beforeAll(async () => {
  backend = await freshBackend();
  await pinPrices(backend);
  ledger = await openLedger({
    store: backend.ledgerBatchStore,
    clock: systemClock,
    log: silentLog,
    instanceName: "recent",
  });
});
afterAll(async () => {
  await ledger.shutDown();
  await backend.close();
});

/** A fresh organization for each test. */
async function newOrg(): Promise<void> {
  ({ orgId, keyId } = await orgWithKey(backend, { creditMicroUsd: 1_000_000n }));
}

async function begin(change: Partial<ReserveRow> = {}): Promise<ReserveRow> {
  const row = reserveRow({ orgId, keyId, attemptId: ledger.newAttemptId() }, 10n, change);
  expect(await ledger.reserve(row)).toEqual({ kind: "reserved" });
  return row;
}

/** Sums by scope, and the oldest age. */
async function recent(): Promise<Record<string, readonly [requests: number, tokens: number]>> {
  const sums: Record<string, readonly [number, number]> = {};
  for (const { scopeIds, requests, tokens } of await charges()) {
    for (const id of scopeIds) {
      const [before, beforeTokens] = sums[id] ?? [0, 0];
      sums[id] = [before + requests, beforeTokens + tokens];
    }
  }
  return sums;
}

const charges = (): Promise<readonly RecentCharge[]> => backend.recentUse.recentUse(orgSlot(orgId));

describe("what the journal says about the last minute", () => {
  test("counts requests and tokens by key, by model and for all", async () => {
    await newOrg();
    const other = await keyOf(backend, orgId);
    await begin({ estimatedTokens: 100 });
    await begin({ estimatedTokens: 30, keyId: other });
    await begin({ estimatedTokens: 5, keyId: other, modelId: "acme/large" as ModelId });
    expect(await recent()).toEqual({
      [`org:${orgId}`]: [3, 135],
      [`key:${keyId}`]: [1, 100],
      [`key:${other}`]: [2, 35],
      "model:acme/small": [2, 130],
      "model:acme/large": [1, 5],
    });
    const stranger = await orgWithKey(backend, { creditMicroUsd: 1n });
    expect(await backend.recentUse.recentUse(orgSlot(stranger.orgId))).toEqual([]);
  });

  test("tokens are those observed when the end was seen, else the estimate", async () => {
    await newOrg();
    const { attemptId: reported } = await begin();
    await ledger.close(closeRow(reported, 5n));
    expect((await recent())[`org:${orgId}`]).toEqual([1, 11 + 3 + 2 + 7 + 5]);
    const { attemptId: silent } = await begin();
    await ledger.close(closeRow(silent, 0n, { usage: null, basis: "none" }));
    expect((await recent())[`org:${orgId}`]).toEqual([2, 28 + 100]);
    const { attemptId: failed } = await begin();
    await ledger.close(voidRow(failed));
    expect((await recent())[`org:${orgId}`]).toEqual([3, 128]);
  });

  test("a request that went to a second provider counts once", async () => {
    await newOrg();
    const first = await begin();
    const attemptId = ledger.newAttemptId();
    const second = { ...first, attemptId, ordinal: 2 };
    await ledger.roll(voidRow(first.attemptId, { final: false }), second);
    expect((await recent())[`org:${orgId}`]).toEqual([1, 100]);
  });

  test("tells the age in whole seconds, never too old, and forgets after a minute", async () => {
    await newOrg();
    const { attemptId } = await begin();
    const sql = `update attempt set created_at = clock_timestamp() - $2::interval
      where attempt_id = $1`;
    await backend.query(sql, [attemptId, "40.1 seconds"]);
    const [charge] = await charges();
    const [row] = await backend.query(
      `select extract(epoch from clock_timestamp() - created_at)::float8 as age
      from attempt where attempt_id = $1`,
      [attemptId],
    );
    expect(charge?.ageSeconds).toBeGreaterThanOrEqual(40);
    expect(charge?.ageSeconds).toBeLessThanOrEqual(Number(row?.["age"]));
    await backend.query(sql, [attemptId, "-5 seconds"]);
    expect((await charges())[0]?.ageSeconds).toBe(0);
    const old = (BigInt(attemptId) - (63_000n << 22n)) as AttemptId;
    await newOrg();
    await begin({ attemptId: old });
    expect(await charges()).toEqual([]);
  });

  test("knows nothing of other slots", async () => {
    expect(await backend.recentUse.recentUse("{pool:acme}")).toEqual([]);
    expect(await backend.recentUse.recentUse("{platform}")).toEqual([]);
  });
});
