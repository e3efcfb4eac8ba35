import { expect, test } from "vitest";

import type { Usage } from "../../../../src/account/console-api/contract.ts";
import { rankGroups } from "./rank-groups.ts";

function figures(spent_usd: string, ttft_p50_ms: number | null): Usage["totals"] {
  return {
    requests: 1,
    by_status: {
      succeeded: 1,
      rejected_by_gateway: 0,
      rejected_by_provider: 0,
      failed: 0,
      cancelled: 0,
      in_flight: 0,
    },
    spent_usd,
    tokens: { prompt: 1, cached_prompt: 0, cache_write: 0, completion: 1, internal_reasoning: 0 },
    ttft_p50_ms,
    ttft_p95_ms: null,
  };
}
const usage: Usage = {
  from: "2026-11-21T00:00:00.000Z",
  to: "2026-11-22T00:00:00.000Z",
  totals: figures("0.000005", null),
  bucket: "hour",
  series: [],
  groups: [
    { group: "a", name: "A", figures: figures("0.000003", 100) },
    { group: "b", name: "B", figures: figures("0.000002", 900) },
    { group: "none", name: "none", figures: figures("0.000000", null) },
  ],
};

test("groups are ranked by the chosen metric", () => {
  const ranked = (metric: "spend" | "ttft" | "errors") =>
    rankGroups(usage, { metric, by: "model" }, 5).map(({ name }) => name);
  expect(ranked("spend")).toEqual(["A", "B"]);
  expect(ranked("ttft")).toEqual(["B", "A"]);
  expect(ranked("errors")).toEqual([]);
});

test("a ranking is as short as it is asked to be", () => {
  expect(rankGroups(usage, { metric: "spend", by: "model" }, 1)).toEqual([
    { id: "a", name: "A", value: "0.000003" },
  ]);
});
