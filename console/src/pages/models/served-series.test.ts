import { expect, test } from "vitest";

import type { FiguresAt, ListingFigures } from "../../../../src/account/console-api/contract.ts";
import { buildFigures } from "./sample-models.test-data.ts";
import { buildServedSeries } from "./served-series.ts";

const NOW_MS = Date.parse("2026-11-26T21:30:00Z");

function figures(at: string, change: Partial<FiguresAt> = {}): FiguresAt {
  return {
    at,
    success: 1,
    uptime: 1,
    ttft_p50_ms: 100,
    ttft_p95_ms: 300,
    tokens_per_second: 50.4,
    ...change,
  };
}

const listing = (provider: string, change: Partial<ListingFigures> = {}): ListingFigures =>
  buildFigures({ provider, ...change });

const lineOf = "provider";

test("the axis has each of the last 30 days, and days without calls are gaps, not 0", () => {
  const days = [
    figures("2026-11-24T00:00:00.000Z"),
    figures("2026-11-26T00:00:00.000Z", { ttft_p50_ms: 0 }),
  ];
  const { parts, buckets } = buildServedSeries([listing("a", { days })], {
    metric: "p50",
    span: "30d",
    nowMs: NOW_MS,
    lineOf,
  });
  expect(parts).toEqual([{ id: "a", name: "a" }]);
  expect(buckets).toHaveLength(30);
  expect(buckets[0]?.id).toBe("2026-10-28T00:00:00.000Z");
  expect(buckets.slice(-4).map(({ values }) => values["a"])).toEqual([null, 100, null, 0]);
});

test("the last 24 hours end with the current hour", () => {
  const hours = [figures("2026-11-26T20:00:00.000Z", { success: 0.9999 })];
  const { buckets } = buildServedSeries([listing("a", { hours })], {
    metric: "success",
    span: "24h",
    nowMs: NOW_MS,
    lineOf,
  });
  expect(buckets).toHaveLength(24);
  expect(buckets.map(({ tick }) => tick).slice(-2)).toEqual(["20:00", "21:00"]);
  expect(buckets.map(({ values }) => values["a"]).slice(-3)).toEqual([null, 999, null]);
});

test("only the eight listings with the most calls are drawn", () => {
  const listings = Array.from({ length: 12 }, (_, at) => listing(`p${at}`, { calls: at }));
  const { parts } = buildServedSeries(listings, {
    metric: "p95",
    span: "30d",
    nowMs: NOW_MS,
    lineOf,
  });
  const drawn = ["p11", "p10", "p9", "p8", "p7", "p6", "p5", "p4"];
  expect(parts.map(({ id }) => id)).toEqual(drawn);
  // The figures of all customers have shares instead of counts.
  const shared = listings.map((each, at) => ({ ...each, calls: null, share_of_calls: at / 66 }));
  const shown = { metric: "p95", span: "30d", nowMs: NOW_MS, lineOf } as const;
  expect(buildServedSeries(shared, shown).parts.map(({ id }) => id)).toEqual(drawn);
});
