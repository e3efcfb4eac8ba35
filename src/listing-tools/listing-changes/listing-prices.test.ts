import * as fc from "fast-check";
import { expect, test } from "vitest";

import { percentChange, priceUnits } from "./listing-prices.ts";

test.each([
  ["1.25", "1.5", "+20"],
  ["3", "4", "+33.34"],
  ["1000000", "1000000.000001", "+0.01"],
  ["2", "0", "-100"],
  ["0.000001", "9999999", "+999999899999900"],
])("a change from %s to %s is %s percent, rounded up", (old, next, percent) => {
  expect(percentChange(priceUnits(old), priceUnits(next))).toBe(percent);
});

test("a change from a price of 0 has no percentage", () => {
  expect(percentChange(0n, 1n)).toBeNull();
});

test("a percentage is never below the exact change, and less than 0.01 above it", () => {
  const price = fc.bigInt({ min: 1n, max: 9_999_999_999_999_999n });
  fc.assert(
    fc.property(price, price, (old, next) => {
      const [, sign = "", whole = "", fraction = ""] =
        /^([+-])(\d+)(?:\.(\d{1,2}))?$/.exec(percentChange(old, next) ?? "") ?? [];
      const parts = BigInt(whole + fraction.padEnd(2, "0")) * (sign === "-" ? -1n : 1n);
      const above = parts * old - (next - old) * 10_000n;
      expect(above >= 0n && above < old).toBe(true);
    }),
  );
});
