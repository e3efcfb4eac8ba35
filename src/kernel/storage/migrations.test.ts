import { expect, test } from "vitest";

import { ownSteps } from "./schema-state.ts";

/**
 * SHA-256 of each step's text. From the first release on, a new step adds a line, and no line
 * changes.
 */
const TEXTS: Readonly<Record<string, string>> = {
  schema: "056c5f9ed826f2d76f1855a4ff0d4f8ceda4630e9f6706ae8407ab1d352a342b",
  functions: "4b07417735be71cd12424547ab1088c39f2fe5e84501ebfff78b018311d82d1d",
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
