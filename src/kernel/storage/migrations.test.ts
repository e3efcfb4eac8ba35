import { expect, test } from "vitest";

import { ownSteps } from "./schema-state.ts";

/** SHA-256 of each step's text. From the first release on a new step adds a line, and none changes. */
const TEXTS: Readonly<Record<string, string>> = {
  schema: "6cf3112c76710254e02da483a7ec625c55221c6ac405b259720cfd8a3ae92a78",
  functions: "27bb6ab79221cf08856e3bef3af998b0fc0a8df8589a1f698eaa8ac75f76c997",
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
