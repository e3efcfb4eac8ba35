import { expect, test } from "vitest";

import { keyVerdict } from "./check-connection.ts";

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
