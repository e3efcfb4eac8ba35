import { readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

const STYLES = join(import.meta.dirname, "../console/src/ui/charts/charts.module.css");

describe.each([
  ["light", "#ffffff"],
  ["dark", "#181b20"],
])("the palette, %s", (scheme, ground) => {
  const colours = paletteOf(scheme);

  test("has eight colours", () => {
    expect(colours).toHaveLength(8);
  });

  test("keeps 3 to 1 against the panel", () => {
    for (const colour of colours) expect(contrast(colour, ground), colour).toBeGreaterThan(3);
  });

  test("keeps every two colours distinct with any kind of colour blindness", () => {
    const close = Object.entries(SIGHTS).flatMap(([kind, sight]) =>
      colours.flatMap((a, at) =>
        colours
          .slice(at + 1)
          .filter((b) => distance(a, b, sight) <= DISTANCE_MIN)
          .map((b) => `${a} ${b} ${kind}`),
      ),
    );
    expect(close).toEqual([]);
  });
});
/** Ten times what a careful eye can just see. */
const DISTANCE_MIN = 25;

function paletteOf(scheme: string): readonly string[] {
  const css = readFileSync(STYLES, "utf8");
  const [light = "", dark = ""] = css.split('[data-mantine-color-scheme="dark"]');
  const text = scheme === "light" ? light : dark;
  return [...text.matchAll(/--part-\d: (#[0-9a-f]{6})/g)].map(([, colour = ""]) => colour);
}

type Three = readonly [number, number, number];

/** Machado and others, 2009, at full severity. */
const SIGHTS: Readonly<Record<string, readonly [Three, Three, Three]>> = {
  full: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

function linear(colour: string): Three {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((from) => {
    const share = Number.parseInt(colour.slice(from, from + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return [red, green, blue];
}

function contrast(a: string, b: string): number {
  const [low = 0, high = 0] = [a, b]
    .map((colour) => {
      const [red, green, blue] = linear(colour);
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    })
    .toSorted((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

/** In CIE L*a*b*, as an eye of this kind sees the two. */
function distance(a: string, b: string, sight: readonly [Three, Three, Three]): number {
  const [first, second] = [labOf(a, sight), labOf(b, sight)];
  return Math.hypot(first[0] - second[0], first[1] - second[1], first[2] - second[2]);
}

function labOf(colour: string, sight: readonly [Three, Three, Three]): Three {
  const seen = linear(colour);
  const [red = 0, green = 0, blue = 0] = sight.map((row) =>
    Math.min(1, Math.max(0, row[0] * seen[0] + row[1] * seen[1] + row[2] * seen[2])),
  );
  const [x = 0, y = 0, z = 0] = [
    (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505,
    0.2126 * red + 0.7152 * green + 0.0722 * blue,
    (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089,
  ].map((t) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}
