import { expect, test } from "vitest";

import { ownSteps } from "./schema-state.ts";

/** SHA-256 of each step's text. From the first release on a new step adds a line, and none changes. */
const TEXTS: Readonly<Record<string, string>> = {
  schema: "84853887493afecf2f4be23dafcec93acbeeba9b8ee0601ba7291a9f5b5f8df3",
  functions: "69d67482abff961488e6bfe0db86723627347371aa0182caa42051ba7ab15d10",
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
