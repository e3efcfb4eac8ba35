import { expect, test } from "vitest";

import { changedFacts } from "./changed-facts.ts";

test.each([
  [{ cap_usd: null }, { cap_usd: "12.500000" }, "cap usd: none → 12.500000"],
  [null, { name: "ci", rpm: 60, key_id: null }, "name: ci, rpm: 60"],
  [{ allowed: false, scope: "key" }, { allowed: true, scope: "key" }, "allowed: no → yes"],
  [{ only: ["a", "b"] }, null, "only was a, b"],
])("of %j and %j the reader sees what is other", (before, after, line) => {
  expect(changedFacts(before, after)).toBe(line);
});
