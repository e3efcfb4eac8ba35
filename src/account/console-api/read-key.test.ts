import { expect, test } from "vitest";

import { ConsoleRefusal } from "./console-refusal.ts";
import { readExpiry } from "./read-key.ts";

const nowMs = Date.parse("2026-11-24T12:00:00Z");

test.each([
  [undefined, undefined],
  [null, undefined],
  ["", undefined],
  ["never", null],
  ["2026-11-24T12:00:01Z", nowMs + 1_000],
  ["2026-11-24T12:01Z", nowMs + 60_000],
  ["2026-11-24T12:00:00.001Z", nowMs + 1],
])("an expiry of %j is read as %j", (text, expected) => {
  expect(readExpiry(text, nowMs)).toBe(expected);
});

test.each([
  ["2026-11-24T12:00:00Z", "already passed"],
  ["1999-01-01T00:00:00Z", "already passed"],
  ["2037-11-24T00:00:00Z", "10 years"],
  ["2026-12-24", "not an instant"],
  ["2026-12-24T00:00:00+01:00", "not an instant"],
  ["2026-13-45T00:00:00Z", "not an instant"],
  ["2027-02-30T00:00:00Z", "not an instant"],
  ["tomorrow", "not an instant"],
])("an expiry of %j is refused: %s", (text, reason) => {
  const refused = readExpiry(text, nowMs);
  expect(refused).toBeInstanceOf(ConsoleRefusal);
  expect(JSON.stringify(refused)).toContain(reason);
});
