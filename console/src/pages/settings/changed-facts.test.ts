import { expect, test } from "vitest";

import { changedFacts } from "./changed-facts.ts";

test.each([
  [{ cap_usd: null }, { cap_usd: "12.500000" }, "Cap: none → $12.50"],
  [null, { name: "ci", rpm: 60, key_id: null }, "Name: ci, Requests per minute: 60"],
  [{ allowed: false, scope: "key" }, { allowed: true, scope: "key" }, "Allowed: no → yes"],
  [{ only: ["a", "b"] }, null, "Only was a, b"],
  [
    null,
    { purchase_order: "", is_trial: true, spent_usd: "0.000001" },
    "Trial: yes, Spent: $0.000001",
  ],
])("of %j and %j the reader sees what is other", (before, after, line) => {
  expect(changedFacts(before, after)).toBe(line);
});
