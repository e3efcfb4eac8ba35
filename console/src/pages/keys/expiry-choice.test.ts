import { describe, expect, test } from "vitest";

import { expirySoon, readExpiryChoice } from "./expiry-choice.ts";

const NOW_MS = Date.parse("2026-11-24T12:00:00Z");

describe("the chosen expiry of a key", () => {
  test.each([
    [{ choice: "", date: "2026-12-01" }, { kind: "unchanged" }],
    [
      { choice: "never", date: "" },
      { kind: "chosen", expiresAt: "never" },
    ],
    [
      { choice: "7", date: "" },
      { kind: "chosen", expiresAt: "2026-12-01T12:00:00.000Z" },
    ],
    [
      { choice: "date", date: "2026-11-24" },
      { kind: "chosen", expiresAt: "2026-11-25T00:00:00.000Z" },
    ],
  ] as const)("is read from %j as %j", (typed, expected) => {
    expect(readExpiryChoice(typed, NOW_MS)).toEqual(expected);
  });

  test.each([
    ["", "Choose a date."],
    ["2026-11-23", "Choose today or a later date."],
  ])("is refused for the date %j: %s", (date, problem) => {
    expect(readExpiryChoice({ choice: "date", date }, NOW_MS)).toEqual({
      kind: "problem",
      problem,
    });
  });
});

test.each([
  [null, undefined],
  ["2026-12-03T12:00:00Z", undefined],
  ["2026-12-01T12:00:00Z", "expires in 7 days"],
  ["2026-12-01T11:59:00Z", "expires in 7 days"],
  ["2026-11-25T12:00:01Z", "expires in 2 days"],
  ["2026-11-25T12:00:00Z", "expires within a day"],
  ["2026-11-25T11:59:59Z", "expires within a day"],
  ["2026-11-24T12:00:00Z", "expired"],
])("a key that expires at %s is labelled %s", (at, expected) => {
  expect(expirySoon(at, NOW_MS)).toBe(expected);
});
