import { beforeAll, describe, expect, test } from "vitest";

import { OWN_KEY_PINS } from "../../src/catalog/deployment-copy.ts";
import {
  type AttemptId,
  createRequestId,
  type ModelId,
  type ProviderId,
} from "../../src/kernel/core/ids.ts";
import { type Usage, ZERO_USAGE } from "../../src/kernel/core/usage.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import type { ReserveRow } from "../../src/ledger/ledger-store.ts";
import { closeRow, orgWithKey, pinPrices, reserveRow, voidRow } from "../support/ledger-rows.ts";
import { withPricedBackend, withMember } from "../support/postgres.ts";

const DAY_MS = 86_400_000;
const nowMs = systemClock.nowMs();

const backend = withPricedBackend();
const member = withMember(backend);
beforeAll(async () => {
  const today = new Date(nowMs).toISOString().slice(0, 10);
  await backend.query("select ensure_attempt_partition($1)", [today]);
});

function used(prompt: number, more: Partial<Usage> = {}): Usage {
  return { ...ZERO_USAGE, prompt, ...more };
}

type Spent = Partial<ReserveRow> & { readonly usage: Usage | null };

let made = 0;

/** Writes attempts of a new organization. */
async function orgThatUsed(...spent: readonly Spent[]) {
  const { orgId, keyId } = await orgWithKey(backend, { creditMicroUsd: 1_000_000_000n });
  for (const { usage, ...change } of spent) {
    made += 1;
    const attemptId = ((BigInt(nowMs - Date.UTC(2025, 0, 1)) << 22n) + BigInt(made)) as AttemptId;
    const row = reserveRow({ orgId, keyId, attemptId }, 1_000n, change);
    await backend.ledgerBatchStore.hold(member, row);
    const close = usage === null ? voidRow(attemptId) : closeRow(attemptId, 1n, { usage });
    await backend.ledgerBatchStore.closeBatch([close]);
  }
  return { orgId, fromMs: nowMs - DAY_MS, toMs: nowMs + DAY_MS };
}

describe("tokens by the size of the request", () => {
  test("are summed between the bounds, and a prompt of exactly a bound's size is not above that bound", async () => {
    const cached = used(60, { cachedPrompt: 30, cacheWrite: 11, completion: 5 });
    const reasoned = used(101, { internalReasoning: 900 });
    const usages = [used(100), cached, reasoned, used(1_001)] as const;
    const range = await orgThatUsed(...usages.map((usage) => ({ usage })));
    const bounds = { promptTokens: [100, 1_000], totalTokens: [1_000] };
    expect(await backend.usageReports.tokensBySize(range, bounds)).toEqual([
      { ...ONE, promptAbove: 0, totalAbove: 0, usage: usages[0] },
      { ...ONE, promptAbove: 1, totalAbove: 0, usage: cached },
      { ...ONE, promptAbove: 1, totalAbove: 1, usage: reasoned },
      { ...ONE, promptAbove: 2, totalAbove: 1, usage: usages[3] },
    ]);
  });

  test("without bounds are one sum for each model, or for the model that is asked for", async () => {
    const modelId = "acme/large" as ModelId;
    const small = [{ usage: used(1) }, { usage: used(2) }];
    const range = await orgThatUsed(...small, { usage: used(4), modelId });
    const sums = await backend.usageReports.tokensBySize(range, NO_BOUNDS);
    expect(sums).toMatchObject([
      { modelId: "acme/large", attempts: 1, usage: { prompt: 4 } },
      { modelId: "acme/small", attempts: 2, usage: { prompt: 3 } },
    ]);
    const ofOne = await backend.usageReports.tokensBySize({ ...range, modelId }, NO_BOUNDS);
    expect(ofOne).toMatchObject([{ modelId, usage: { prompt: 4 } }]);
  });

  test("are summed separately for each provider of a model", async () => {
    const providerId = "beta-ai" as ProviderId;
    const range = await orgThatUsed({ usage: used(1), providerId }, { usage: used(2) });
    expect(await backend.usageReports.tokensBySize(range, NO_BOUNDS)).toMatchObject([
      { providerId: "acme-ai", usage: { prompt: 2 } },
      { providerId: "beta-ai", usage: { prompt: 1 } },
    ]);
  });

  test("are summed separately for a customer's own provider key, and include one-hour cache writes", async () => {
    const pricePinId = `${OWN_KEY_PINS}0123456789abcdef`;
    await pinPrices(backend, { pinId: pricePinId });
    const hours = used(1, { cacheWrite: 5, cacheWrite1h: 3 });
    const range = await orgThatUsed({ usage: used(2), pricePinId }, { usage: hours });
    const sums = await backend.usageReports.tokensBySize(range, NO_BOUNDS);
    expect(sums).toMatchObject([
      { isOwnKey: false, usage: hours },
      { isOwnKey: true, usage: { prompt: 2 } },
    ]);
  });

  test("include only chat attempts with reported tokens, of the requested time and organization", async () => {
    const media = ["/v1/images/generations", "/images/generations", "/v1/videos", "/v1/decisions"];
    const range = await orgThatUsed(
      { usage: used(7), route: "/v1/messages" },
      { usage: null },
      { usage: used(100), requestId: createRequestId(nowMs - 3 * DAY_MS) },
      ...media.map((route) => ({ usage: used(1_000), route })),
    );
    const sums = await backend.usageReports.tokensBySize(range, NO_BOUNDS);
    expect(sums).toMatchObject([{ attempts: 1, usage: { prompt: 7 } }]);
    const other = await orgThatUsed();
    expect(await backend.usageReports.tokensBySize(other, NO_BOUNDS)).toEqual([]);
  });
});

/** Each closing in these tests debits one micro-dollar. */
const ONE = {
  modelId: "acme/small",
  providerId: "acme-ai",
  isOwnKey: false,
  attempts: 1,
  debitMicroUsd: microUsd(1n),
};

const NO_BOUNDS = { promptTokens: [], totalTokens: [] };
