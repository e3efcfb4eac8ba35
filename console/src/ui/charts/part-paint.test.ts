import { describe, expect, test } from "vitest";

import { COLOURS, familyColour, choosePaints } from "./part-paint.ts";

const parts = (...ids: readonly string[]) => ids.map((id) => ({ id }));
const MANY = Array.from({ length: 200 }, (_none, at) => `lab/model-${at}`);

describe("the paint of a part", () => {
  test("depends on its id and not on its rank", () => {
    const ids = MANY.slice(0, COLOURS);
    const colours = (some: readonly string[]): Readonly<Record<string, unknown>> =>
      Object.fromEntries(
        choosePaints(parts(...some), false).map(({ colour }, at) => [some[at], colour]),
      );
    expect(colours(ids.toReversed())).toEqual(colours(ids));
  });

  test("differs between the parts of a chart, by colour until all colours are used", () => {
    for (const isHatched of [false, true]) {
      for (let from = 0; from + 12 <= MANY.length; from += 1) {
        const some = MANY.slice(from, from + 12);
        const looks = choosePaints(parts(...some), isHatched).map((each) => JSON.stringify(each));
        expect(new Set(looks).size).toBe(looks.length);
        const few = choosePaints(parts(...some.slice(0, COLOURS)), isHatched);
        expect(new Set(few.map(({ colour }) => colour)).size).toBe(COLOURS);
      }
    }
    for (const { mark } of choosePaints(parts(...MANY.slice(0, COLOURS)), false))
      expect(mark).toBe(0);
  });

  test("is the maker's own colour for one model of each maker in the chart", () => {
    const ids = ["openai/a", "openai/b", "anthropic/a", "anthropic/b", "google/a"];
    const colours = choosePaints(parts(...ids), false).map(({ colour }) => colour);
    expect(new Set(colours).size).toBe(ids.length);
    for (const family of ["openai/", "anthropic/", "google/"]) {
      const own = colours.filter((_colour, at) => ids[at]?.startsWith(family) === true);
      expect(own).toContain(familyColour(family));
    }
  });

  test("is grey for the part of all others, and the chart's own colour for an undivided bar", () => {
    expect(choosePaints([{ id: "other" }, { id: "all", isWhole: true }], true)).toEqual([
      { colour: "other", mark: 0 },
      { colour: "own", mark: 0 },
    ]);
  });
});
