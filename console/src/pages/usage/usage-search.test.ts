import { describe, expect, test } from "vitest";

import { FILTER_VALUES_MAX as SERVER_VALUES_MAX } from "../../../../src/account/console-api/contract/usage.ts";
import { writeMinute } from "./day-range.ts";
import {
  chosen,
  customFault,
  FILTER_VALUES_MAX,
  readFilters,
  METRICS,
  readRange,
  readMinute,
  spanBefore,
  readValues,
  type UsageSearch,
} from "./usage-search.ts";

const NOW = Date.UTC(2026, 10, 22, 13, 45);

describe("a range", () => {
  test("of days has whole UTC days and includes today", () => {
    expect(readFilters({ range: "7d" }, NOW)).toEqual({
      from: "2026-11-16T00:00:00.000Z",
      to: "2026-11-23T00:00:00.000Z",
    });
    expect(readFilters({ range: "30d" }, NOW).from).toBe("2026-10-24T00:00:00.000Z");
  });

  test("of the last hour has no end, and 90 days are whole days", () => {
    expect(readFilters({ range: "1h" }, NOW + 30_000)).toEqual({
      from: "2026-11-22T12:45:00.000Z",
    });
    expect(readFilters({ range: "90d" }, NOW).from).toBe("2026-08-25T00:00:00.000Z");
  });

  test("of this month begins on the first of the UTC month", () => {
    expect(readFilters({ range: "month" }, NOW).from).toBe("2026-11-01T00:00:00.000Z");
  });

  test("of the last 24 hours is left to the server", () => {
    expect(readFilters({}, NOW)).toEqual({});
  });

  test("with custom times is read as UTC", () => {
    const search = { range: "custom", from: "2026-11-20T10:00", to: "2026-11-20T11:00" };
    expect(readFilters(search, NOW)).toEqual({
      from: "2026-11-20T10:00:00.000Z",
      to: "2026-11-20T11:00:00.000Z",
    });
  });

  test("that is invalid has a problem and is not sent", () => {
    const search = { range: "custom", from: "2026-11-20T10:00", to: "2026-11-20T10:00" };
    expect(customFault(search)).toContain("after the start");
    expect(readFilters(search, NOW)).toEqual({});
    expect(customFault({ from: "2024-01-01T00:00", to: "2026-01-01T00:00" })).toContain("366");
    expect(customFault({ from: "2026-13-45T10:00", to: "2026-11-20T10:00" })).toContain("start");
  });
});

test("the filters leave out the page's cursor, grouping and metric", () => {
  const search = { model: "lab/one", key: "playground", provider: "p", status: "failed" };
  expect(readFilters({ ...search, cursor: "c", by: "day", metric: "ttft" }, NOW)).toEqual(search);
});

test("the values of a filter are sent as a comma-separated list, each once, up to the server's maximum", () => {
  const search = { model: "lab/one,lab/two,lab/one,", status: "ok,refused,nonsense,failed" };
  expect(readFilters(search, NOW)).toEqual({
    model: "lab/one,lab/two",
    status: "succeeded,rejected_by_gateway,failed",
  });
  const many = Array.from({ length: 30 }, (_none, at) => `m${at}`);
  expect(readValues({ model: many.join() }, "model")).toHaveLength(FILTER_VALUES_MAX);
  expect(FILTER_VALUES_MAX).toBe(SERVER_VALUES_MAX);
});

describe("the previous time range", () => {
  const before = (search: UsageSearch, from: string, to: string): readonly string[] => {
    const span = spanBefore(search, { from: `${from}:00.000Z`, to: `${to}:00.000Z` }, NOW);
    return span === undefined ? [] : [span.from.slice(0, 16), span.to.slice(0, 16)];
  };

  test("has the same length, cut at the same point if the shown range is not over", () => {
    expect(before({}, "2026-11-21T13:45", "2026-11-22T13:45")).toEqual([
      "2026-11-20T13:45",
      "2026-11-21T13:45",
    ]);
    // The shown range is seven days long and ends at midnight, in ten and a quarter hours.
    expect(before({ range: "7d" }, "2026-11-16T00:00", "2026-11-23T00:00")).toEqual([
      "2026-11-09T00:00",
      "2026-11-15T13:45",
    ]);
  });

  test("is the previous month up to the same point for a month", () => {
    expect(before({ range: "month" }, "2026-11-01T00:00", "2026-11-23T00:00")).toEqual([
      "2026-10-01T00:00",
      "2026-10-22T13:45",
    ]);
  });

  test("is undefined for a range in the future", () => {
    expect(before({ range: "custom" }, "2026-12-01T00:00", "2026-12-02T00:00")).toEqual([]);
  });
});

test("invalid values in the address are replaced by defaults", () => {
  expect(readRange({ range: "a year" })).toBe("24h");
  expect(chosen(METRICS, "beauty")).toBe("spend");
  expect(readFilters({ status: "nonsense" }, NOW)).toEqual({});
});

test("a minute is written as text and read back unchanged", () => {
  expect(readMinute(writeMinute(NOW))).toBe(NOW);
});
