import { expect, test } from "vitest";

import { ownSteps } from "./migration-files.ts";

/** SHA-256 of each step's text. From the first release on a new step adds a line, and none changes. */
const TEXTS: Readonly<Record<string, string>> = {
  schema: "8ece4cfc746a539b70f54d76765c280754417cbaa3fd65a220a2c06ae381e7fd",
  functions: "f375fa2220eb49c8a9e5c97ce2333b7131476c04f657b6d3743c2a9b5d7ccadc",
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
