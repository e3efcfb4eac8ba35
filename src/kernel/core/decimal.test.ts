import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { decimalSize, parseDecimal, plainDecimal, shiftDecimal } from "./decimal.ts";

const plain = (raw: string, places = 0): string => {
  const decimal = parseDecimal(raw);
  if (decimal === undefined) throw new Error(`${raw} is no number`);
  return plainDecimal(shiftDecimal(decimal, places), 400);
};

describe("a decimal", () => {
  test.each([
    ["2e-07", 6, "0.2"],
    ["3.625e-09", 6, "0.003625"],
    ["0.00000090000000000000005", 6, "0.90000000000000005"],
    ["1.5e-06", 6, "1.5"],
    ["12500", -4, "1.25"],
    ["0.0", 6, "0"],
    ["0e99", 0, "0"],
    ["100", 0, "100"],
    ["1E+2", 0, "100"],
    ["00012.50", 0, "12.5"],
  ])("%s shifted by %d places is %s", (raw, places, text) => {
    expect(plain(raw, places)).toBe(text);
  });

  test.each(["", "-", ".5", "5.", "1e", "0x1", " 1", "1 ", "NaN", "Infinity", "1_000"])(
    "is not read from %j",
    (raw) => {
      expect(parseDecimal(raw)).toBeUndefined();
    },
  );

  test("keeps its sign beside its digits, and zero has none", () => {
    expect(parseDecimal("-1")?.negative).toBe(true);
    expect(parseDecimal("-0.0")?.negative).toBe(false);
  });

  const written = fc.record({
    digits: fc.bigInt(0n, 10n ** 30n),
    scale: fc.integer({ min: 0, max: 40 }),
    exponent: fc.integer({ min: -40, max: 40 }),
    places: fc.integer({ min: -20, max: 20 }),
  });

  test("shifted anywhere is what whole numbers say that it is", () => {
    fc.assert(
      fc.property(written, ({ digits, scale, exponent, places }) => {
        const padded = digits.toString().padStart(scale + 1, "0");
        const cut = padded.length - scale;
        const point = scale === 0 ? padded : `${padded.slice(0, cut)}.${padded.slice(cut)}`;
        const text = plain(`${point}e${exponent}`, places);
        const [whole = "", fraction = ""] = text.split(".");
        // Both sides times 10^200.
        const left = BigInt(whole + fraction.padEnd(200, "0"));
        expect(left).toBe(digits * 10n ** BigInt(200 - scale + exponent + places));
        expect(text).not.toMatch(/^0\d|\.$|\.\d*0$/);
      }),
      { numRuns: 2000 },
    );
  });

  test("says how many digits it has on each side of its point", () => {
    fc.assert(
      fc.property(written, ({ digits, exponent }) => {
        const decimal = parseDecimal(`${digits}e${exponent}`);
        if (decimal === undefined) throw new Error("no number");
        const [whole = "", fraction = ""] = plainDecimal(decimal, 400).split(".");
        const wholeDigits = whole === "0" ? 0 : whole.length;
        expect(decimalSize(decimal)).toEqual({ whole: wholeDigits, fraction: fraction.length });
      }),
    );
  });

  test("of any length is read in a time that grows with its length only", () => {
    const hostile = `0.${"0".repeat(400_000)}1${"0".repeat(400_000)}1`;
    const started = performance.now();
    expect(parseDecimal(hostile)?.digits).toHaveLength(400_002);
    expect(parseDecimal(`1e${"9".repeat(100_000)}`)?.point).toBe(Infinity);
    expect(performance.now() - started).toBeLessThan(1000);
  });
});
