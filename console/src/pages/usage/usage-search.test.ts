import { describe, expect, test } from "vitest";

import { chosen, customFault, filtersOf, RANGES, readMinute, writeMinute } from "./usage-search.ts";

const NOW = Date.UTC(2026, 10, 22, 13, 45);

describe("a range", () => {
  test("of days is whole UTC days with today", () => {
    expect(filtersOf({ range: "7d" }, NOW)).toEqual({
      from: "2026-11-16T00:00:00.000Z",
      to: "2026-11-23T00:00:00.000Z",
    });
    expect(filtersOf({ range: "30d" }, NOW).from).toBe("2026-10-24T00:00:00.000Z");
  });

  test("this month begins with the first of the UTC month", () => {
    expect(filtersOf({ range: "month" }, NOW).from).toBe("2026-11-01T00:00:00.000Z");
  });

  test("the last 24 hours are the server's to reckon", () => {
    expect(filtersOf({}, NOW)).toEqual({});
  });

  test("of one's own is taken as UTC", () => {
    const search = { range: "custom", from: "2026-11-20T10:00", to: "2026-11-20T11:00" };
    expect(filtersOf(search, NOW)).toEqual({
      from: "2026-11-20T10:00:00.000Z",
      to: "2026-11-20T11:00:00.000Z",
    });
  });

  test("that ends before it begins is said to be wrong, and not asked for", () => {
    const search = { range: "custom", from: "2026-11-20T10:00", to: "2026-11-20T10:00" };
    expect(customFault(search)).toContain("after the start");
    expect(filtersOf(search, NOW)).toEqual({});
    expect(customFault({ from: "2024-01-01T00:00", to: "2026-01-01T00:00" })).toContain("366");
    expect(customFault({ from: "2026-13-45T10:00", to: "2026-11-20T10:00" })).toContain("start");
  });
});

test("figures, log and file are asked with the same filters", () => {
  const search = { model: "lab/one", key: "playground", provider: "p", status: "failed" };
  expect(filtersOf({ ...search, cursor: "c", by: "day", metric: "ttft" }, NOW)).toEqual(search);
});

test("an edited address breaks nothing", () => {
  expect(chosen(RANGES, "a year")).toBe("24h");
  expect(filtersOf({ status: "nonsense" }, NOW)).toEqual({});
});

test("a minute is read as it was written", () => {
  expect(readMinute(writeMinute(NOW))).toBe(NOW);
});
