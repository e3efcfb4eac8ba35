import { expect, test } from "vitest";

import { Affinity } from "./affinity.ts";

test("a conversation is remembered for five minutes, and only so many are", () => {
  const affinity = new Affinity();
  affinity.note("a", "acme/m", 0);
  expect(affinity.servedLast("a", 299_999)).toBe("acme/m");
  expect(affinity.servedLast("a", 300_000)).toBeUndefined();
  for (let at = 0; at < 20_000; at += 1) affinity.note(`later ${at}`, "acme/m", 1);
  expect(affinity.servedLast("a", 2)).toBeUndefined();
  expect(affinity.servedLast("later 0", 2)).toBe("acme/m");
});
