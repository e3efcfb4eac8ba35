import { expect, test } from "vitest";

import { buildFigures, buildListing, buildModel } from "./sample-models.test-data.ts";
import { servedFirst, indexServedModels } from "./served.ts";

const figures = (provider: string, rest: Parameters<typeof buildFigures>[0]) =>
  buildFigures({ provider, model: "acme/one", ...rest });

test("a model's served figures are those of its first provider", () => {
  const served = indexServedModels([
    figures("fast", { success: 0.99, ttft_p50_ms: 100 }),
    figures("first", { success: 0.9, ttft_p50_ms: 300, tokens_per_second: 40 }),
    figures("first", { model: "acme/two" }),
  ]);
  const providers = [buildListing({ provider: "first" }), buildListing({ provider: "fast" })];
  const one = buildModel({ id: "acme/one", providers });
  const first = { success: 0.9, uptime: null, ttftMs: 300, tokensPerSecond: 40 };
  expect(servedFirst(served, one)).toEqual(first);
  expect(servedFirst(served, buildModel({ id: "acme/three", providers }))).toBeUndefined();
  expect(servedFirst(undefined, one)).toBeUndefined();
});

test("a model's share of calls is the sum over its listings", () => {
  const served = indexServedModels([figures("a", {}), figures("b", { share_of_calls: 0.5 })]);
  expect(served.get("acme/one")?.share).toBe(0.75);
});
