import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { runs } from "../../../test/support/depth.ts";
import { comparePrices, isMargin, readPrice, withMargin } from "./price-text.ts";

/** A price of a manifest as millionths of a dollar per million tokens. */
function millionths(text: string): bigint {
  const [whole = "", fraction = ""] = text.split(".");
  return BigInt(whole + fraction.padEnd(6, "0"));
}

const MANIFEST_PRICE = /^[0-9]{1,7}(?:\.[0-9]{1,6})?$/;

/** Returns "sound" if count * 10^exponent is read as exactly as required, else the flaw. */
function judge(count: bigint, exponent: number): string {
  const price = readPrice(`${count}e${exponent}`, 0);
  if (!price.ok) return count > 9_999_999n * 10n ** BigInt(-exponent) ? "sound" : "refused";
  if (!MANIFEST_PRICE.test(price.usdPerMillion)) return `printed as ${price.usdPerMillion}`;
  // Both sides are multiplied by 10^30 and a million, so that integers are compared.
  const exact = count * 10n ** BigInt(30 + exponent) * 1_000_000n;
  const read = millionths(price.usdPerMillion) * 10n ** 30n;
  if (price.changed === undefined) return read === exact ? "sound" : "changed silently";
  if (price.changed === "price-rounded") {
    return read > exact && read - exact < 10n ** 30n ? "sound" : "rounded wrongly";
  }
  const distance = read > exact ? read - exact : exact - read;
  return distance * 1_000_000_000n <= exact ? "sound" : "not noise";
}

describe("a price of a source", () => {
  test.each([
    ["2e-07", 6, "0.2"],
    ["0.000005", 6, "5"],
    ["3.625e-09", 6, "0.003625"],
    ["12500", -4, "1.25"],
    ["0", 6, "0"],
    ["9999999", 0, "9999999"],
  ])("%s, moved %d places, is %s USD per million", (raw, places, usdPerMillion) => {
    expect(readPrice(raw, places)).toEqual({ ok: true, usdPerMillion });
  });

  test.each([
    ["0.0000029999900000000002", 6, "2.99999"],
    ["0.049999999999999996", 0, "0.05"],
    ["9999998.9999999999999", 0, "9999999"],
  ])("%s, moved %s places, is read without its float noise", (raw, places, usdPerMillion) => {
    expect(readPrice(raw, places)).toEqual({ ok: true, usdPerMillion, changed: "price-noise" });
  });

  test.each([
    ["0.00000008333333333333334", 6, "0.083334"],
    ["1.0000001", 0, "1.000001"],
    ["1.2345678", 0, "1.234568"],
    // It has as many digits as rounding noise, but is too far from the nearest manifest price.
    ["0.000123000123456789", 0, "0.000124"],
    ["1e-99999999999", 0, "0.000001"],
  ])("%s, moved %s places, is rounded up to six decimals", (raw, places, usdPerMillion) => {
    expect(readPrice(raw, places)).toEqual({ ok: true, usdPerMillion, changed: "price-rounded" });
  });

  test.each([
    ["-1", "negative"],
    ["12345678", "too-large"],
    ["9999999.9999991", "too-large"],
    ["free", "not-a-price"],
    ["", "not-a-price"],
    ["1,5", "not-a-price"],
  ])("%s is refused as %s", (raw, reason) => {
    expect(readPrice(raw, 0)).toEqual({ ok: false, reason });
  });

  const digits = fc.bigInt(0n, 10n ** 22n);

  test("is exact, rounded up by under a millionth, or the nearest price to a float's noise", () => {
    fc.assert(
      fc.property(digits, fc.integer({ min: -30, max: 0 }), (count, exponent) => {
        expect(judge(count, exponent)).toBe("sound");
      }),
      { numRuns: runs(1_000) },
    );
  });

  const price = fc.bigInt(0n, 9_999_999_999_999n).map((count) => {
    const text = count.toString().padStart(7, "0");
    return `${text.slice(0, -6)}.${text.slice(-6)}`;
  });

  test("with a margin is the exact product, rounded up", () => {
    fc.assert(
      fc.property(price, fc.bigInt(0n, 999_999_999n), (sold, margin) => {
        const padded = margin.toString().padStart(7, "0");
        const percent = `${padded.slice(0, -6)}.${padded.slice(-6)}`;
        expect(isMargin(percent)).toBe(true);
        const more = withMargin(sold, percent);
        const exact = millionths(sold) * (100_000_000n + margin);
        const up = (exact + 99_999_999n) / 100_000_000n;
        const fits = up <= 9_999_999_999_999n;
        expect(more === undefined ? undefined : millionths(more)).toBe(fits ? up : undefined);
      }),
      { numRuns: runs(500) },
    );
  });

  test("is compared by its value, not by its text", () => {
    expect(comparePrices("10", "9.5")).toBeGreaterThan(0);
    expect(comparePrices("0.10", "0.1")).toBe(0);
    expect(comparePrices("0.09", "0.1")).toBeLessThan(0);
  });
});
