import * as fc from "fast-check";
import { expect, test } from "vitest";

import { matchesGlob } from "./glob.ts";

const letters = fc.string({ unit: fc.constantFrom("a", "b", ".", "/"), maxLength: 12 });
const globs = fc.string({ unit: fc.constantFrom("a", "b", ".", "*", "?"), maxLength: 8 });

test("a pattern matches the same texts as its regular expression", () => {
  fc.assert(
    fc.property(globs, letters, (glob, text) => {
      const source = glob.replaceAll(".", "\\.").replaceAll("*", ".*").replaceAll("?", ".");
      expect(matchesGlob(glob, text)).toBe(new RegExp(`^${source}$`, "s").test(text));
    }),
  );
});

test("a pattern of many stars is matched against a long text without backtracking", () => {
  const glob = `${"a*".repeat(64)}b`;
  expect(matchesGlob(glob, "a".repeat(20_000))).toBe(false);
  expect(matchesGlob(glob, `${"a".repeat(20_000)}b`)).toBe(true);
});
