import { expect, test } from "vitest";

import { ownSteps } from "./migration-files.ts";

/** SHA-256 of each step's text. From the first release on a new step adds a line, and none changes. */
const TEXTS: Readonly<Record<string, string>> = {
  schema: "1e510e4bbc88c02309cfcf236bb17983d889fcaaf6f4d8693d79678902fea7f7",
  functions: "2bfe0ae33bfa2e6846ba632b3fb2e935b53e093e907ee49c7e3dfcded4138d0e",
};

test("the text of a published step is frozen, to the byte", () => {
  expect(Object.fromEntries(ownSteps().map(({ name, sha256 }) => [name, sha256]))).toEqual(TEXTS);
});

test("a reserve counts what is owed against the balance, in every place of the batch", () => {
  const text = ownSteps()
    .map((step) => step.text)
    .join("");
  const start = text.indexOf("create function ledger_batch(");
  const body = text.slice(start, text.indexOf("\nend $$;", start));
  expect(body.match(/w\.credits - w\.debits - w\.owed/g)).toHaveLength(2);
  expect(body.match(/w\.credits - w\.debits(?! - w\.owed)/g)).toBeNull();
});
