import { expect, test } from "vitest";

import { ownSteps } from "./schema-state.ts";

/**
 * SHA-256 of each step's text. From the first release on, a new step adds a line, and no line
 * changes.
 */
const TEXTS: Readonly<Record<string, string>> = {
  schema: "236bb0a3168618fff3ac7b0e461e2c9e94eee99cc84385aca5eaa1d1c2c8a3b3",
  functions: "791f408bc141bf47fec5131a021ad2bb3b59e60106d09c7ac7a916c4fc873e1c",
};

test("the text of a published step never changes", () => {
  expect(Object.fromEntries(ownSteps().map(({ name, sha256 }) => [name, sha256]))).toEqual(TEXTS);
});

test("ledger_batch subtracts what an organization owes wherever it computes the balance", () => {
  const text = ownSteps()
    .map((step) => step.text)
    .join("");
  const start = text.indexOf("create function ledger_batch(");
  const body = text.slice(start, text.indexOf("\nend $$;", start));
  expect(body.match(/w\.credits - w\.debits - w\.owed/g)).toHaveLength(2);
  expect(body.match(/w\.credits - w\.debits(?! - w\.owed)/g)).toBeNull();
});
