import { expect, test } from "vitest";

import { checkKeyRequest, keyVerdict } from "./check-key-request.ts";

test("each wire is asked for its models in its own way", () => {
  expect(checkKeyRequest("wire_a")).toEqual({ path: "/models", headers: {} });
  expect(checkKeyRequest("wire_b")).toEqual({
    path: "/models",
    headers: { "anthropic-version": "2023-06-01" },
  });
});

test.each([
  [200, "accepted"],
  [204, "accepted"],
  [301, "unclear"],
  [401, "refused"],
  [402, "refused"],
  [403, "refused"],
  [404, "unclear"],
  [429, "unclear"],
  [500, "unclear"],
])("status %i means %s", (status, verdict) => {
  expect(keyVerdict(status)).toBe(verdict);
});
