import { expect, test } from "vitest";

import { ownSteps } from "./schema-state.ts";

/**
 * SHA-256 of each step's text. From the first release on, a new step adds a line, and no line
 * changes.
 */
const TEXTS: Readonly<Record<string, string>> = {
  schema: "4e4987c06bc4847f54c2a266a648e89e5fe54cc233f067ee019c2f648c564385",
  functions: "24e2e6947caefe023b7dcbb9292de71b46c904f4a3ba1e1063e57ab7d210b5c8",
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
