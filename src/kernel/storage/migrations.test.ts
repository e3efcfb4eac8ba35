import { expect, test } from "vitest";

import { ownSteps } from "./schema-state.ts";

/**
 * SHA-256 of each step's text. From the first release on, a new step adds a line, and no line
 * changes.
 */
const TEXTS: Readonly<Record<string, string>> = {
  schema: "0153d4322a28f0d7e53b36d3969d873c61156011c9da14b4e9707970b5141cad",
  functions: "4edefd5f7fc6f50afbbb3d962860e7295de1c8d0aadd9516180962d1028b242f",
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
