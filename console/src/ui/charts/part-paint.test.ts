import { describe, expect, test } from "vitest";

import { COLOURS, familyColour, MARKS, choosePaints } from "./part-paint.ts";

const parts = (...ids: readonly string[]) => ids.map((id) => ({ id }));
const KEYS = Array.from({ length: 200 }, (_none, at) => `key-${at}`);
const MANY = Array.from({ length: 200 }, (_none, at) => `lab/model-${at}`);

describe("the paint of a part", () => {
  test("is that of its id and not of its rank", () => {
    const ids = MANY.slice(0, COLOURS);
    const colours = (some: readonly string[]): Readonly<Record<string, unknown>> =>
      Object.fromEntries(
        choosePaints(parts(...some), false).map(({ colour }, at) => [some[at], colour]),
      );
    expect(colours(ids.toReversed())).toEqual(colours(ids));
  });

  test("differs from that of every other part of a chart, in colour as long as there are any", () => {
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

  test("is that of its maker where no other stands before it, whatever else is in the chart", () => {
    const ids = ["openai/a", "openai/b", "anthropic/a", "anthropic/b", "google/a"];
    const colours = choosePaints(parts(...ids), false).map(({ colour }) => colour);
    expect(new Set(colours).size).toBe(ids.length);
    for (const family of ["openai/", "anthropic/", "google/"]) {
      const own = colours.filter((_colour, at) => ids[at]?.startsWith(family) === true);
      expect(own).toContain(familyColour(family));
    }
  });

  test("uses all colours, and patterns everywhere when they are asked for", () => {
    const colours = new Set(KEYS.map((id) => choosePaints(parts(id), false)[0]?.colour));
    expect(colours.size).toBe(COLOURS);
    for (const { mark } of choosePaints(parts(...MANY), true)) {
      expect(mark).toBeGreaterThanOrEqual(1);
      expect(mark).toBeLessThanOrEqual(MARKS);
    }
  });

  test("of what is left is grey, and of a whole the chart's own", () => {
    expect(choosePaints([{ id: "other" }, { id: "all", isWhole: true }], true)).toEqual([
      { colour: "other", mark: 0 },
      { colour: "own", mark: 0 },
    ]);
  });
});
