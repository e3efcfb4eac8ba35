import * as fc from "fast-check";
import { expect, test } from "vitest";

import { runs } from "../../../../test/support/depth.ts";
import { SeenNames } from "./check-shape.ts";

test("SeenNames reports a name as new exactly if it was not added before", () => {
  // With few distinct names, names repeat even after the first 8, which are kept in a list.
  const name = fc.string({ unit: fc.constantFrom("a", "b", "c", "d"), maxLength: 2 });
  fc.assert(
    fc.property(fc.array(name, { maxLength: 60, size: "max" }), (names) => {
      const seen = new SeenNames();
      const expected = new Set<string>();
      for (const each of names) {
        expect(seen.add(each)).toBe(!expected.has(each));
        expected.add(each);
        expect(seen.size).toBe(expected.size);
      }
    }),
    { numRuns: runs(300) },
  );
});
