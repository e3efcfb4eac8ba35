import { expect, test } from "vitest";

import { ownSteps } from "./schema-state.ts";

/** SHA-256 of each step's text. From the first release on, a new step adds a line, and no line changes. */
const TEXTS: Readonly<Record<string, string>> = {
  schema: "8be0dc3af12033f8b24f62c0f600ea09c80a81280b48682527b233554de4d7df",
  functions: "3cf92af7208b8bd401dacf3ff83d8d9bb8f6a91c7f7bfdf0844ff4b45a7d8347",
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
