import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { quickOrDeep } from "../../../test/support/depth.ts";
import {
  ceilToMicroUsd,
  decimalSize,
  floorToMicroUsd,
  formatExactUsd,
  formatUsd,
  fractionBelowMicroUsd,
  microUsd,
  parseDecimal,
  parseExactUsd,
  parseUsd,
  parseUsdToPico,
  picoUsd,
  plainDecimal,
  shiftDecimal,
  usdJsonNumber,
} from "./money.ts";

const amounts = fc.bigInt({ min: 0n, max: 10n ** 21n });

test("a reserve is never below the exact cost, a debit never above, and they differ by 1 micro-dollar at most", () => {
  fc.assert(
    fc.property(amounts, (exact) => {
      const up = ceilToMicroUsd(picoUsd(exact));
      const down = floorToMicroUsd(picoUsd(exact));
      expect(up * 1_000_000n >= exact).toBe(true);
      expect(down * 1_000_000n <= exact).toBe(true);
      expect(up - down <= 1n).toBe(true);
    }),
  );
});

test("an amount of dollars is printed and read back without losing a micro-dollar", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }), (amount) => {
      expect(parseUsd(formatUsd(microUsd(amount)))).toBe(amount);
    }),
  );
});

test("a JSON number of dollars has no exponent, no trailing zero, and the exact value", () => {
  expect(usdJsonNumber(microUsd(0n))).toBe("0");
  expect(usdJsonNumber(microUsd(1n))).toBe("0.000001");
  expect(usdJsonNumber(microUsd(1_932n))).toBe("0.001932");
  expect(usdJsonNumber(microUsd(120_000_000n))).toBe("120");
  expect(usdJsonNumber(microUsd(-1_500_000n))).toBe("-1.5");
});

test("parseUsd refuses a text that is not a decimal with at most six fraction digits", () => {
  for (const text of ["", "1e3", "1.", ".5", "1.0000001", "$1", "1,000", " 1", "NaN"]) {
    expect(parseUsd(text)).toBeUndefined();
  }
});

test("parseUsdToPico reads a provider's cost from its digits, with or without an exponent", () => {
  expect(parseUsdToPico("0.00012")).toBe(120_000_000n);
  expect(parseUsdToPico("1.5e-05")).toBe(15_000_000n);
  expect(parseUsdToPico("2E1")).toBe(20_000_000_000_000n);
  expect(parseUsdToPico("0.0000000000019")).toBe(1n);
  for (const text of ["", "-1", "1e99", "NaN", "0x1", ".5"]) {
    expect(parseUsdToPico(text)).toBeUndefined();
  }
});

test("an exact amount is the sum of its floor and a remainder below one micro-dollar", () => {
  fc.assert(
    fc.property(amounts, (exact) => {
      const rest = fractionBelowMicroUsd(picoUsd(exact));
      expect(floorToMicroUsd(picoUsd(exact)) * 1_000_000n + rest).toBe(exact);
      expect(rest >= 0n && rest < 1_000_000n).toBe(true);
    }),
  );
});

test("an exact amount is printed and read back without losing a pico-dollar", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 26n), max: 10n ** 26n }), (amount) => {
      expect(parseExactUsd(formatExactUsd(picoUsd(amount)))).toBe(amount);
    }),
  );
  expect(formatExactUsd(picoUsd(1n))).toBe("0.000000000001");
  expect(formatExactUsd(picoUsd(-2_500_000_000_000n))).toBe("-2.500000000000");
});

test("parseExactUsd reads a figure exactly or not at all", () => {
  expect(parseExactUsd("12")).toBe(12_000_000_000_000n);
  expect(parseExactUsd("-1.5e-05")).toBe(-15_000_000n);
  expect(parseExactUsd("0.0000000000010000")).toBe(1n);
  for (const text of ["", " 1", "+1", "1.", ".5", "1,5", "$1", "NaN", "1e99", "0.0000000000001"]) {
    expect(parseExactUsd(text)).toBeUndefined();
  }
});

const plain = (raw: string, places = 0): string => {
  const decimal = parseDecimal(raw);
  if (decimal === undefined) throw new Error(`${raw} is no number`);
  return plainDecimal(shiftDecimal(decimal, places), 400);
};

describe("a Decimal", () => {
  test.each([
    ["2e-07", 6, "0.2"],
    ["3.625e-09", 6, "0.003625"],
    ["0.00000090000000000000005", 6, "0.90000000000000005"],
    ["1.5e-06", 6, "1.5"],
    ["0e99", 0, "0"],
    ["1E+2", 0, "100"],
    ["00012.50", 0, "12.5"],
  ])("of %s, shifted by %d places, is printed as %s", (raw, places, text) => {
    expect(plain(raw, places)).toBe(text);
  });

  test.each(["", "-", ".5", "5.", "1e", "0x1", " 1", "1 ", "NaN", "Infinity", "1_000"])(
    "cannot be read from %j",
    (raw) => {
      expect(parseDecimal(raw)).toBeUndefined();
    },
  );

  test("has a sign apart from its digits, and none for zero", () => {
    expect(parseDecimal("-1")?.negative).toBe(true);
    expect(parseDecimal("-0.0")?.negative).toBe(false);
  });

  const written = fc.record({
    digits: fc.bigInt(0n, 10n ** 30n),
    scale: fc.integer({ min: 0, max: 40 }),
    exponent: fc.integer({ min: -40, max: 40 }),
    places: fc.integer({ min: -20, max: 20 }),
  });

  test("shifted by any number of places has the value that whole numbers compute", () => {
    fc.assert(
      fc.property(written, ({ digits, scale, exponent, places }) => {
        const padded = digits.toString().padStart(scale + 1, "0");
        const cut = padded.length - scale;
        const point = scale === 0 ? padded : `${padded.slice(0, cut)}.${padded.slice(cut)}`;
        const text = plain(`${point}e${exponent}`, places);
        const [whole = "", fraction = ""] = text.split(".");
        // Multiplies both sides by 10^200, so that integers are compared.
        const left = BigInt(whole + fraction.padEnd(200, "0"));
        expect(left).toBe(digits * 10n ** BigInt(200 - scale + exponent + places));
        expect(text).not.toMatch(/^0\d|\.$|\.\d*0$/);
      }),
      { numRuns: quickOrDeep(200, 5_000) },
    );
  });

  test("reports how many digits it has on each side of its point", () => {
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

  test("of 800,000 digits is read within five seconds", () => {
    const hostile = `0.${"0".repeat(400_000)}1${"0".repeat(400_000)}1`;
    const started = performance.now();
    expect(parseDecimal(hostile)?.digits).toHaveLength(400_002);
    expect(parseDecimal(`1e${"9".repeat(100_000)}`)?.point).toBe(Infinity);
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});
