import { expect, test } from "vitest";

import { ownSteps } from "./schema-state.ts";

/** SHA-256 of each step's text. From the first release on a new step adds a line, and none changes. */
const TEXTS: Readonly<Record<string, string>> = {
  schema: "10ca50feb84b7be2ee06cb4326125169a8108a771c254a3ace8d820666cdca44",
  functions: "066f37bd927e3d6558af4a182e61958af76859deb5285072c358b6b123e77658",
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
