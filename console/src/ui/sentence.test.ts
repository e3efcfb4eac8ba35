import { expect, test } from "vitest";

import { sentence } from "./sentence.ts";

test.each([
  ["there is no such key in your organization", "There is no such key in your organization."],
  ["Too slow. Try again.", "Too slow. Try again."],
  ["rpm 301 is above the ceiling of 300", "rpm 301 is above the ceiling of 300."],
  ["cap_usd must be a string", "cap_usd must be a string."],
  ["", ""],
])("%s", (message, shown) => {
  expect(sentence(message)).toBe(shown);
});
