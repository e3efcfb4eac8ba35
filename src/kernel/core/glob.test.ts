import * as fc from "fast-check";
import { expect, test } from "vitest";

import { matchesGlob } from "./glob.ts";

const letters = fc.string({ unit: fc.constantFrom("a", "b", ".", "/"), maxLength: 12 });
const globs = fc.string({ unit: fc.constantFrom("a", "b", ".", "*", "?"), maxLength: 8 });

test("a pattern matches what its expression matches, and every other character is itself", () => {
  fc.assert(
    fc.property(globs, letters, (glob, text) => {
      const source = glob.replaceAll(".", "\\.").replaceAll("*", ".*").replaceAll("?", ".");
      expect(matchesGlob(glob, text)).toBe(new RegExp(`^${source}$`, "s").test(text));
    }),
  );
});

test("many stars on a long text are answered at once", () => {
  const glob = `${"a*".repeat(64)}b`;
  expect(matchesGlob(glob, "a".repeat(20_000))).toBe(false);
  expect(matchesGlob(glob, `${"a".repeat(20_000)}b`)).toBe(true);
});
