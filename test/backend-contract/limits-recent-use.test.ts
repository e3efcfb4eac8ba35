import { beforeEach, describe, expect, test } from "vitest";

import type { AttemptId, KeyId, ModelId, OrgId, ProviderId } from "../../src/kernel/core/ids.ts";
import type { ReserveRow } from "../../src/ledger/ledger-store.ts";
import { orgSlot } from "../../src/gateway/limits/limit-store.ts";
import type { PoolMember, RecentCharge } from "../../src/gateway/limits/recent-use-rows.ts";
import {
  closeRow,
  keyOf,
  orgWithKey,
  pinPrices,
  reserveRow,
  voidRow,
} from "../support/ledger-rows.ts";
import { withPricedBackend, withLedger } from "../support/postgres.ts";

let orgId: OrgId;
let keyId: KeyId;

const backend = withPricedBackend();

const ledger = withLedger(backend, "recent");

async function newOrg(): Promise<void> {
  ({ orgId, keyId } = await orgWithKey(backend, { creditMicroUsd: 1_000_000n }));
}
beforeEach(newOrg);

async function begin(change: Partial<ReserveRow> = {}): Promise<ReserveRow> {
  const row = reserveRow({ orgId, keyId, attemptId: ledger.newAttemptId() }, 10n, change);
  expect(await ledger.reserve(row)).toEqual({ kind: "reserved" });
  return row;
}

/** Sums the requests, tokens, prompt tokens and completion tokens of recent use by scope. */
async function recent(slot?: string, members?: readonly PoolMember[]) {
  const sums: Record<string, readonly number[]> = {};
  for (const charge of await charges(slot, members)) {
    const { requests, tokens, promptTokens, completionTokens } = charge;
    for (const id of charge.scopeIds) {
      const before = sums[id] ?? [0, 0, 0, 0];
      const more = [requests, tokens, promptTokens, completionTokens];
      sums[id] = more.map((amount, at) => amount + (before[at] ?? 0));
    }
  }
  return sums;
}

const charges = (
  slot: string = orgSlot(orgId),
  members: readonly PoolMember[] = [],
): Promise<readonly RecentCharge[]> => backend.recentUse(slot, () => members);

describe("the journal's report of the last minute", () => {
  test("counts requests and tokens by key, by model and for the organization", async () => {
    const other = await keyOf(backend, orgId);
    await begin({ estimatedTokens: 100 });
    await begin({ estimatedTokens: 30, keyId: other });
    await begin({ estimatedTokens: 5, keyId: other, modelId: "acme/large" as ModelId });
    expect(await recent()).toEqual({
      [`org:${orgId}`]: [3, 135, 135, 135],
      [`key:${keyId}`]: [1, 100, 100, 100],
      [`key:${other}`]: [2, 35, 35, 35],
      [`model:acme/small@${orgId}`]: [2, 130, 130, 130],
      [`model:acme/large@${orgId}`]: [1, 5, 5, 5],
      [`model:acme/small@${keyId}`]: [1, 100, 100, 100],
      [`model:acme/small@${other}`]: [1, 30, 30, 30],
      [`model:acme/large@${other}`]: [1, 5, 5, 5],
    });
    const stranger = await orgWithKey(backend, { creditMicroUsd: 1n });
    expect(await charges(orgSlot(stranger.orgId))).toEqual([]);
  });

  test("counts requests of an organization without credit in its own windows, but not those with its own provider keys", async () => {
    await backend.query("update org set funded_at = null where org_id = $1", [orgId]);
    await pinPrices(backend, { pinId: "own-key-1" });
    await begin();
    await begin();
    await begin({ pricePinId: "own-key-1" });
    expect(await recent()).toMatchObject({
      [`org:${orgId}`]: [3, 300, 300, 300],
      [`org:${orgId}#unfunded`]: [2, 200, 200, 200],
      [`key:${keyId}#unfunded`]: [2, 200, 200, 200],
    });
  });

  test("has the observed tokens of ended attempts, and the estimate of others", async () => {
    const { attemptId: reported } = await begin();
    await ledger.close(closeRow(reported, 5n));
    expect((await recent())[`org:${orgId}`]).toEqual([1, 28, 11 + 3 + 2, 7 + 5]);
    const { attemptId: silent } = await begin();
    await ledger.close(closeRow(silent, 0n, { usage: null, basis: "none" }));
    expect((await recent())[`org:${orgId}`]).toEqual([2, 128, 116, 112]);
    const { attemptId: failed } = await begin();
    await ledger.close(voidRow(failed));
    expect((await recent())[`org:${orgId}`]).toEqual([3, 128, 116, 112]);
  });

  test("counts a request that went to a second provider once", async () => {
    const first = await begin();
    const second = { ...first, attemptId: ledger.newAttemptId(), ordinal: 2 };
    await ledger.roll(voidRow(first.attemptId, { final: false }), second);
    expect((await recent())[`org:${orgId}`]).toEqual([1, 100, 100, 100]);
  });

  test("returns ages rounded down to whole seconds, and omits charges older than a minute", async () => {
    const { attemptId } = await begin();
    const sql = `update hold set created_at = clock_timestamp() - $2::interval
      where attempt_id = $1`;
    await backend.query(sql, [attemptId, "40.1 seconds"]);
    const [charge] = await charges();
    const age = `select extract(epoch from clock_timestamp() - created_at)::float8 as age
      from hold where attempt_id = $1`;
    const [row] = await backend.query(age, [attemptId]);
    expect(charge?.ageSeconds).toBeGreaterThanOrEqual(40);
    expect(charge?.ageSeconds).toBeLessThanOrEqual(Number(row?.["age"]));
    await backend.query(sql, [attemptId, "-5 seconds"]);
    expect((await charges())[0]?.ageSeconds).toBe(0);
    const old = (BigInt(attemptId) - (63_000n << 22n)) as AttemptId;
    await newOrg();
    await begin({ attemptId: old });
    expect(await charges()).toEqual([]);
  });

  test("counts every attempt in the pool of its deployment, for every caller", async () => {
    const members = [
      { providerId: "pool-ai", modelId: "acme/small" },
      { providerId: "pool-ai", modelId: "acme/large" },
    ];
    const providerId = "pool-ai" as ProviderId;
    const first = await begin({ providerId });
    // The second candidate of the same request also uses the pool.
    const attemptId = ledger.newAttemptId();
    const second = { ...first, attemptId, ordinal: 2, modelId: "acme/large" as ModelId };
    await ledger.roll(voidRow(first.attemptId, { final: false }), second);
    await ledger.close(closeRow(attemptId, 5n));
    await begin({ providerId, modelId: "acme/other" as ModelId });
    await begin();
    const own = `pool-share:house@${orgId}`;
    expect(await recent("{pool:house}", members)).toEqual({
      "pool:house": [2, 28, 16, 12],
      [own]: [2, 28, 16, 12],
    });
    await newOrg();
    await begin({ providerId, estimatedTokens: 5 });
    expect(await recent("{pool:house}", members)).toEqual({
      "pool:house": [3, 33, 21, 17],
      [own]: [2, 28, 16, 12],
      [`pool-share:house@${orgId}`]: [1, 5, 5, 5],
    });
    expect(await charges("{pool:house}", [])).toEqual([]);
  });

  test("counts a request to a dedicated endpoint for that endpoint only", async () => {
    await backend.query(
      "insert into dedicated_endpoint (endpoint_id, org_id, provider_id) values ($1, $2, $3)",
      ["end-1", orgId, "private-ai"],
    );
    await begin({ providerId: "private-ai" as ProviderId, estimatedTokens: 40 });
    await begin();
    expect(await recent("{endpoint:end-1}")).toEqual({ "endpoint:end-1": [1, 40, 40, 40] });
    expect(await charges("{endpoint:end-2}")).toEqual([]);
  });

  test("counts the requests of all organizations for the platform", async () => {
    const before = (await recent("{platform}"))["platform"]?.[0] ?? 0;
    await begin();
    await newOrg();
    await begin();
    expect((await recent("{platform}"))["platform"]?.[0]).toBe(before + 2);
    expect(await charges("{elsewhere}")).toEqual([]);
  });
});
