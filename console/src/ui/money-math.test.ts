import { expect, test } from "vitest";

import {
  addUsd,
  compareUsd,
  parseUsd,
  plainUsd,
  readUsdInput,
  computeShare,
  showCents,
  showUsd,
  toCents,
  writeUsd,
} from "./money-math.ts";

test("an amount of any size is parsed and written back without loss", () => {
  for (const usd of ["0.000000", "0.000001", "-0.000001", "9007199254740993.000001"]) {
    expect(writeUsd(parseUsd(usd))).toBe(usd);
  }
});

test("amounts are added exactly, even where floats would lose digits", () => {
  expect(addUsd("0.100000", "0.200000")).toBe("0.300000");
  expect(addUsd("9007199254740993.000001", "-0.000001")).toBe("9007199254740993.000000");
  expect(addUsd()).toBe("0.000000");
});

test("a text that is not an amount throws instead of becoming zero", () => {
  for (const text of ["", "1e3", "0x1", "1.0000001", "--1", "NaN", ".5", "1."]) {
    expect(() => parseUsd(text)).toThrow(RangeError);
  }
});

test("typed dollars may have a dollar sign and spaces, but no minus, no comma and no seventh decimal", () => {
  expect(readUsdInput(" $12.5 ")).toBe(12_500_000n);
  expect(readUsdInput("$ 5")).toBe(5_000_000n);
  expect(readUsdInput("0")).toBe(0n);
  expect(readUsdInput("-1")).toBeUndefined();
  expect(readUsdInput("0.0000001")).toBeUndefined();
  expect(readUsdInput("1,5")).toBeUndefined();
});

test("a headline is rounded to cents, halves away from zero", () => {
  expect(toCents("0.005000")).toBe("0.01");
  expect(toCents("0.004999")).toBe("0.00");
  expect(toCents("-0.005000")).toBe("-0.01");
  expect(toCents("-0.004999")).toBe("0.00");
  expect(toCents("99.995000")).toBe("100.00");
});

test("a headline shows an amount below a cent as less than a cent, not as zero", () => {
  expect(showCents("0.000001")).toBe("<$0.01");
  expect(showCents("-0.000001")).toBe("−<$0.01");
  expect(showCents("0.000000")).toBe("$0.00");
  expect(showCents("1234.567890")).toBe("$1,234.57");
});

test("an exact amount shows every digit, thousands separators and a true minus", () => {
  expect(showUsd("1234567.000001")).toBe("$1,234,567.000001");
  expect(showUsd("-0.001932")).toBe("−$0.001932");
  expect(showUsd("10.000000", { isSigned: true })).toBe("+$10.000000");
  expect(showUsd("0.000000", { isSigned: true })).toBe("$0.000000");
  expect(showUsd("999.000000")).toBe("$999.000000");
});

test("amounts are sorted by size, and shares stay between 0 and 1", () => {
  const sorted = ["10.000000", "9.000000", "-1.000000"].sort(compareUsd);
  expect(sorted).toEqual(["-1.000000", "9.000000", "10.000000"]);
  expect(computeShare("1.000000", "4.000000")).toBe(0.25);
  expect(computeShare("5.000000", "4.000000")).toBe(1);
  expect(computeShare("-5.000000", "4.000000")).toBe(0);
  expect(computeShare("5.000000", "0.000000")).toBe(0);
});

test("an amount written into a field is exact and has at least two decimals", () => {
  expect(plainUsd("25.000000")).toBe("25.00");
  expect(plainUsd("0.500000")).toBe("0.50");
  expect(plainUsd("1.000001")).toBe("1.000001");
  expect(plainUsd("0.123450")).toBe("0.12345");
});
