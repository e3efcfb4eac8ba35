import { expect, test } from "vitest";

import type { ListingFigures } from "../../../../src/account/console-api/contract.ts";
import { servedModels } from "./served.ts";

function figures(provider: string, rest: Partial<ListingFigures>): ListingFigures {
  const none = { success: null, uptime: null, ttft_p50_ms: null, ttft_p95_ms: null };
  return {
    ...none,
    provider,
    model: "acme/one",
    calls: 9,
    days: [],
    hours: [],
    tokens_per_second: null,
    ...rest,
  };
}

test("a model is served as well as the best of its providers in each figure", () => {
  const served = servedModels([
    figures("a", { success: 0.9, ttft_p50_ms: 300 }),
    figures("b", { success: 0.99, ttft_p50_ms: 500, tokens_per_second: 40 }),
    figures("c", { tokens_per_second: 0 }),
    figures("d", { model: "acme/two" }),
  ]);
  const best = { success: 0.99, ttftMs: 300, tokensPerSecond: 40 };
  expect(served.get("acme/one")).toMatchObject(best);
  const nothing = { success: null, ttftMs: null, tokensPerSecond: null };
  expect(served.get("acme/two")).toMatchObject(nothing);
  expect(served.get("acme/none")).toBeUndefined();
});

test("the figures of each provider of a model are kept apart", () => {
  const served = servedModels([
    figures("a", { ttft_p50_ms: 300 }),
    figures("b", { ttft_p50_ms: 500, tokens_per_second: 40 }),
  ]);
  expect([...(served.get("acme/one")?.byProvider ?? [])]).toEqual([
    ["a", { ttftMs: 300, tokensPerSecond: null }],
    ["b", { ttftMs: 500, tokensPerSecond: 40 }],
  ]);
});
