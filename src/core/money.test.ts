import * as fc from "fast-check";
import { expect, test } from "vitest";

import {
  ceilToMicroUsd,
  floorToMicroUsd,
  formatUsd,
  microUsd,
  parseUsd,
  parseUsdToPico,
  picoUsd,
  usdJsonNumber,
} from "./money.ts";

const amounts = fc.bigInt({ min: 0n, max: 10n ** 21n });

test("a reserve is never below the exact cost, a debit never above it, one micro apart at most", () => {
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

test("rounding once over the sum never charges less than rounding each line down", () => {
  fc.assert(
    fc.property(fc.array(amounts, { maxLength: 6 }), (lines) => {
      const sum = lines.reduce((total, line) => total + line, 0n);
      const each = lines.reduce((total, line) => total + floorToMicroUsd(picoUsd(line)), 0n);
      expect(floorToMicroUsd(picoUsd(sum)) >= each).toBe(true);
    }),
  );
});

test("a dollar amount is printed and read back without losing a micro-dollar", () => {
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

test("text that is not a decimal with at most six fraction digits is no amount", () => {
  for (const text of ["", "1e3", "1.", ".5", "1.0000001", "$1", "1,000", " 1", "NaN"]) {
    expect(parseUsd(text)).toBeUndefined();
  }
});

test("a provider's own cost is read from its digits, with or without an exponent", () => {
  expect(parseUsdToPico("0.00012")).toBe(120_000_000n);
  expect(parseUsdToPico("1.5e-05")).toBe(15_000_000n);
  expect(parseUsdToPico("2E1")).toBe(20_000_000_000_000n);
  expect(parseUsdToPico("0.0000000000019")).toBe(1n);
  for (const text of ["", "-1", "1e99", "NaN", "0x1", ".5"]) {
    expect(parseUsdToPico(text)).toBeUndefined();
  }
});
