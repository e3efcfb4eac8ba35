import { expect, test } from "vitest";

import { substitutedShare, webAddress } from "./provider-labels.ts";

test("only http and https addresses become links", () => {
  expect(webAddress("https://lab.example/privacy")).toBe("https://lab.example/privacy");
  const refused = ["javascript:alert(1)", "data:text/html,x", "/settings", "", null];
  expect(refused.map(webAddress)).toEqual(refused.map(() => undefined));
});

test("the substituted share is in whole percent, and left out if it is unknown", () => {
  expect([null, 0, 0.29].map(substitutedShare)).toEqual([
    "in the last 24 hours",
    "under 1% of answers in 24 hours",
    "29% of answers in 24 hours",
  ]);
});
