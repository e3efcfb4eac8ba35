import * as fc from "fast-check";
import { expect, test } from "vitest";

import { runs } from "../../../test/support/depth.ts";
import { foldName } from "./fold-name.ts";

/** Folds a name by the full rule of `foldName`, without its fast paths. */
function foldedByRule(name: string): string {
  return name.normalize("NFKC").toUpperCase().toLowerCase().replaceAll("\u0307", "");
}

test("foldName returns the same as its full rule without fast paths, for names of any letters", () => {
  const ascii = fc.string({ unit: "binary-ascii", maxLength: 64 });
  const any = fc.string({ unit: "binary", maxLength: 32 });
  const mixed = fc
    .array(fc.constantFrom("A", "z", "_", "\u212a", "\u017f", "\u0131", "\uff41", "i\u0307"))
    .map((letters) => letters.join(""));
  fc.assert(
    fc.property(fc.oneof(ascii, any, mixed), (name) => {
      fc.pre(name.length <= 64);
      expect(foldName(name)).toBe(foldedByRule(name));
    }),
    { numRuns: runs(1000) },
  );
});
