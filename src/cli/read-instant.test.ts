import { expect, test } from "vitest";

import { readDay, readInstant } from "./read-instant.ts";

test("a day is its midnight in UTC, and a time of day is read with its zone", () => {
  expect(readInstant("2026-02-28", "--since")).toBe(Date.UTC(2026, 1, 28));
  expect(readInstant("2026-02-28T12:30+01:00", "--since")).toBe(Date.UTC(2026, 1, 28, 11, 30));
  expect(readDay("2028-02-29", "--before")).toBe("2028-02-29");
});

test.each(["2026-02-30", "2026-02-30T12:00Z", "2026-02-28T12:00", "2026-02-28T25:00Z", "today"])(
  "%s is refused, and taken for no other time",
  (text) => {
    expect(() => readInstant(text, "--since")).toThrow("--since must be a day or an instant");
    expect(() => readDay(text, "--before")).toThrow("--before must be a day");
  },
);
