import { describe, expect, test } from "vitest";

import type { Usage } from "../../../../src/account/console-api/contract.ts";
import { chartData, groupName, spanOfBucket } from "./chart-data.ts";

const none = { prompt: 0, cached_prompt: 0, cache_write: 0, completion: 0, internal_reasoning: 0 };
const by_status = {
  succeeded: 1,
  rejected_by_gateway: 0,
  rejected_by_provider: 0,
  failed: 0,
  cancelled: 0,
  in_flight: 0,
};
const figures = {
  requests: 1,
  by_status,
  spent_usd: "0.000000",
  tokens: none,
  ttft_p50_ms: null,
  ttft_p95_ms: null,
};
const usage: Usage = {
  from: "2026-11-21T00:00:00.000Z",
  to: "2026-11-23T00:00:00.000Z",
  totals: figures,
  bucket: "day",
  series: [
    {
      at: "2026-11-21T00:00:00.000Z",
      parts: {
        "lab/one": {
          requests: 3,
          by_status: { ...by_status, failed: 1, rejected_by_provider: 1 },
          tokens: 10,
          spent_usd: "0.100001",
        },
        other: { requests: 1, by_status, tokens: 5, spent_usd: "0.000002" },
      },
      ttft_p50_ms: 120,
      ttft_p95_ms: 480,
    },
    { at: "2026-11-22T00:00:00.000Z", parts: {}, ttft_p50_ms: null, ttft_p95_ms: null },
  ],
  groups: [
    { group: "lab/one", name: "One", figures },
    { group: "lab/rare", name: "Rare", figures },
  ],
};

describe("the bars of the usage page", () => {
  test("have the largest groups by name, and all others last", () => {
    expect(chartData(usage, "spend", "model").parts).toEqual([
      { id: "lab/one", name: "One" },
      { id: "other", name: "All others" },
    ]);
  });

  test("are ordered by the chosen metric, without groups that have none of it", () => {
    const step = usage.series[0]?.parts["lab/one"];
    if (step === undefined) throw new Error("the example has lost its model");
    const many = { ...step, requests: 9, spent_usd: "0.000001", by_status };
    const series = [{ ...usage.series[0], parts: { "lab/one": step, "lab/two": many } }];
    const both = { ...usage, series } as Usage;
    const ids = (metric: "spend" | "requests" | "errors") =>
      chartData(both, metric, "model").parts.map(({ id }) => id);
    expect(ids("spend")).toEqual(["lab/one", "lab/two"]);
    expect(ids("requests")).toEqual(["lab/two", "lab/one"]);
    expect(ids("errors")).toEqual(["lab/one"]);
  });

  test("have the figures of the chosen metric", () => {
    const first = (metric: "spend" | "requests" | "tokens" | "errors" | "ttft") =>
      chartData(usage, metric, "model").buckets[0]?.values;
    expect(first("spend")).toEqual({ "lab/one": "0.100001", other: "0.000002" });
    expect(first("requests")).toEqual({ "lab/one": 3, other: 1 });
    expect(first("tokens")).toEqual({ "lab/one": 10, other: 5 });
    expect(first("errors")).toEqual({ "lab/one": 1, other: 0 });
    expect(first("ttft")).toEqual({ p50: 120, p95: 480 });
  });

  test("are one sum per bar if grouped by day, exact to the micro-dollar", () => {
    const { parts, buckets } = chartData(usage, "spend", "day");
    expect(parts).toEqual([{ id: "all", name: "Spend", isWhole: true }]);
    expect(buckets.map(({ values }) => values["all"])).toEqual(["0.100003", "0.000000"]);
  });

  test("are labelled by day or by hour, in UTC", () => {
    expect(chartData(usage, "spend", "model").buckets[0]).toMatchObject({
      label: "21 Nov 2026",
      tick: "21 Nov",
    });
    const hours: Usage = { ...usage, bucket: "hour" };
    expect(chartData(hours, "spend", "model").buckets[0]).toMatchObject({
      label: "21 Nov 2026, 00:00 UTC",
      tick: "00:00",
    });
  });
});

test("groups without a model or provider, and groups by status, have readable names", () => {
  expect(groupName("model", { group: "none", name: "none" })).toBe("No known model");
  expect(groupName("provider", { group: "none", name: "none" })).toBe("No provider");
  expect(groupName("status", { group: "in_flight", name: "in_flight" })).toBe("In progress");
  expect(groupName("key", { group: "key_1", name: "Production" })).toBe("Production");
});

test("choosing a bar selects exactly its time range", () => {
  const at = "2026-11-21T00:00:00.000Z";
  expect(spanOfBucket(at, "day").toMs - spanOfBucket(at, "day").fromMs).toBe(86_400_000);
  expect(spanOfBucket(at, "hour").toMs - spanOfBucket(at, "hour").fromMs).toBe(3_600_000);
});
