import { expect, test } from "vitest";

import { ownSteps } from "./schema-state.ts";

/**
 * SHA-256 of each step's text. From the first release on, a new step adds a line, and no line
 * changes.
 */
const TEXTS: Readonly<Record<string, string>> = {
  schema: "1b8df05aeeba2e9d4521c69497eadee69bf74a5988884de5f61c158d9b0f624b",
  functions: "f815fdb5384345dbe198575debc147212f9a0f8c68e6bc83483e2fd1b66add09",
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
