import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { staleReferencePages } from "../scripts/generate-reference.ts";

test("the published schema and the reference pages are up to date", () => {
  const root = fileURLToPath(new URL("..", import.meta.url));
  expect(staleReferencePages(root)).toEqual([]);
});
