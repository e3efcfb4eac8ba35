import { readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { COLOURS } from "../console/src/ui/charts/part-paint.ts";

const STYLES = join(import.meta.dirname, "../console/src/ui/charts/charts.module.css");

describe("the palette of charts", () => {
  const css = readFileSync(STYLES, "utf8");
  const found = [...css.matchAll(/--part-\d: #([0-9a-f]{6});/g)].map(([, hex = ""]) => linear(hex));
  const schemes = [
    { name: "light", panel: "ffffff", colours: found.slice(0, COLOURS) },
    { name: "dark", panel: "181b20", colours: found.slice(COLOURS) },
  ];

  test.each(schemes)(
    "of $name has a contrast of 3 to 1 against its panel",
    ({ panel, colours }) => {
      expect(colours).toHaveLength(COLOURS);
      for (const colour of colours) {
        expect(contrast(colour, linear(panel))).toBeGreaterThanOrEqual(3);
      }
    },
  );
});

type Triple = readonly number[];

function linear(hex: string): Triple {
  return [0, 2, 4].map((at) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
}

function contrast(a: Triple, b: Triple): number {
  const [dark = 0, light = 0] = [a, b]
    .map((each) => times([LUMINANCE], each)[0] ?? 0)
    .toSorted((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}
const LUMINANCE = [0.2126, 0.7152, 0.0722];

function times(rows: readonly Triple[], vector: Triple): Triple {
  return rows.map((row) => row.reduce((sum, each, at) => sum + each * (vector[at] ?? 0), 0));
}
