import { expect, test } from "vitest";

import { refusalText } from "./refusal-text.ts";

const refused = {
  request_id: "one",
  at: "2026-11-23T00:00:00.000Z",
  status: "rejected_by_gateway",
  error_class: "insufficient_quota",
} as const;

test("a first request without credit says so, and leads to the credit", () => {
  expect(refusalText(refused, false)).toEqual({
    words: "It arrived and was rejected: there is no credit yet.",
    repair: "credit",
  });
});

test("with credit by then, the page asks for no more", () => {
  expect(refusalText(refused, true)).toMatchObject({ repair: "view" });
});

test.each([
  ["rate_limit", "rejected_by_gateway", /Wait a minute/],
  ["some_reason", "rejected_by_provider", /was rejected \(some_reason\)/],
  ["upstream_error", "failed", /the provider did not answer \(upstream_error\)/],
  [null, "cancelled", /your program closed the connection/],
] as const)("%s of a request that was %s is explained", (error_class, status, words) => {
  expect(refusalText({ ...refused, error_class, status }, true).words).toMatch(words);
});
