import { readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { COLOURS } from "../console/src/ui/charts/part-paint.ts";

const STYLES = join(import.meta.dirname, "../console/src/ui/charts/charts.module.css");

describe("the chart palette", () => {
  const css = readFileSync(STYLES, "utf8");
  const found = [...css.matchAll(/--part-\d: #([0-9a-f]{6});/g)].map(([, hex = ""]) => linear(hex));
  const schemes = [
    { name: "light", panel: "ffffff", colours: found.slice(0, COLOURS) },
    { name: "dark", panel: "181b20", colours: found.slice(COLOURS) },
  ];

  test.each(schemes)(
    "has a contrast of at least 3 to 1 with its panel in the $name scheme",
    ({ panel, colours }) => {
      expect(colours).toHaveLength(COLOURS);
      for (const colour of colours) {
        expect(contrast(colour, linear(panel))).toBeGreaterThanOrEqual(3);
      }
    },
  );

  test.each(schemes)(
    "has no two similar colors in the $name scheme, for any kind of color vision",
    ({ colours }) => {
      for (const eye of EYES) {
        const seen = colours.map((colour) => oklab(times(eye, colour)));
        for (const [at, one] of seen.entries()) {
          for (const other of seen.slice(at + 1)) {
            expect(Math.hypot(...one.map((each, n) => each - (other[n] ?? 0)))).toBeGreaterThan(
              0.09,
            );
          }
        }
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

/** Converts to Ottosson's color space, where distances are as people see them. */
function oklab(rgb: Triple): Triple {
  const inGamut = rgb.map((each) => Math.min(1, Math.max(0, each)));
  return times(TO_LAB, times(TO_LMS, inGamut).map(Math.cbrt));
}
const TO_LMS = [
  [0.4122214708, 0.5363325363, 0.0514459929],
  [0.2119034982, 0.6806995451, 0.1073969566],
  [0.0883024619, 0.2817188376, 0.6299787005],
];
const TO_LAB = [
  [0.2104542553, 0.793617785, -0.0040720468],
  [1.9779984951, -2.428592205, 0.4505937099],
  [0.0259040371, 0.7827717662, -0.808675766],
];

/** Normal vision, and vision without red, green or blue cones (Machado and others, 2009). */
const EYES: readonly (readonly Triple[])[] = [
  [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
];
