import { describe, expect, test } from "vitest";

import { COLOURS, MARKS, paintsOf } from "./part-paint.ts";

const parts = (...ids: readonly string[]) => ids.map((id) => ({ id }));
const MANY = Array.from({ length: 200 }, (_none, at) => `lab/model-${at}`);

describe("the paint of a part", () => {
  test("has the colour of its id, whatever the others are and wherever it ranks", () => {
    for (const id of MANY) {
      const [alone] = paintsOf(parts(id), false);
      const among = paintsOf(parts("a", "b", id, "c"), true)[2];
      expect(among?.colour).toBe(alone?.colour);
    }
  });

  test("differs from that of every other part of a chart", () => {
    for (const isHatched of [false, true]) {
      for (let from = 0; from + 7 <= MANY.length; from += 1) {
        const paints = paintsOf(parts(...MANY.slice(from, from + 7)), isHatched);
        const looks = paints.map(({ colour, mark }) => `${colour} ${mark}`);
        expect(new Set(looks).size).toBe(looks.length);
      }
    }
  });

  test("uses all colours, and patterns everywhere when they are asked for", () => {
    const colours = new Set(MANY.map((id) => paintsOf(parts(id), false)[0]?.colour));
    expect(colours.size).toBe(COLOURS);
    for (const { mark } of paintsOf(parts(...MANY), true)) {
      expect(mark).toBeGreaterThanOrEqual(1);
      expect(mark).toBeLessThanOrEqual(MARKS);
    }
  });

  test("of what is left is grey, and of a whole the chart's own", () => {
    expect(paintsOf([{ id: "other" }, { id: "all", isWhole: true }], true)).toEqual([
      { colour: "other", mark: 0 },
      { colour: "own", mark: 0 },
    ]);
  });
});
