import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { parseUsdToPico } from "../../../kernel/core/money.ts";
import { asCount, hugeUsd, inputOutputFlaw, readReportedCost } from "./usage-report.ts";

const HONEST = {
  input_tokens: 10,
  output_tokens: 5,
  total_tokens: 15,
  input_tokens_details: { cached_tokens: 4 },
};

test.each([
  ["adds up", HONEST],
  ["has no total", { ...HONEST, total_tokens: null }],
  ["has no counts", {}],
])("a report that %s has no flaw", (_what, usage) => {
  expect(inputOutputFlaw(usage)).toBeUndefined();
});

test.each([
  ["a sum that is wrong", { ...HONEST, total_tokens: 16 }, "total_tokens is not input plus"],
  ["a count that is negative", { ...HONEST, input_tokens: -1 }, "input_tokens is not a count"],
  [
    "more cached tokens than input tokens",
    { ...HONEST, input_tokens_details: { cached_tokens: 11 } },
    "more input tokens are cached",
  ],
])("%s is reported as a usage flaw", (_what, usage, sentence) => {
  expect(inputOutputFlaw(usage)).toContain(sentence);
});

test.each([2 ** 53, 1e16, 1e300, Infinity])(
  "a count of %d is the greatest count, which no settlement believes",
  (value) => {
    expect(asCount(value)).toBe(Number.MAX_SAFE_INTEGER);
  },
);

test.each([-1, 1.5, Number.NaN, -Infinity, "3", null, undefined])("%j is not a count", (value) => {
  expect(asCount(value)).toBeUndefined();
});

const inUsd = (raw: string): string | undefined => readReportedCost(`{"usage":{"cost":${raw}}}`);
const inTicks = (raw: string): string | undefined =>
  readReportedCost(`{"usage":{"cost_in_usd_ticks":${raw}}}`);

describe("a provider's own cost", () => {
  test.each([
    ["0.0832", "0.0832"],
    ["12.500", "12.5"],
    ["0.0", "0"],
    ["1.2e-5", "0.000012"],
    ["100e-2", "1"],
    ['"0.04"', "0.04"],
    // A float cannot hold all of these digits.
    ["0.00193199999999999999999999", "0.00193199999999999999999999"],
  ])("in dollars as %s is read as %s", (raw, usd) => {
    expect(inUsd(raw)).toBe(usd);
  });

  test.each([
    ["10000000000", "1"],
    ["832000000", "0.0832"],
    ["2.5e9", "0.25"],
  ])("in ticks as %s is read as %s dollars", (raw, usd) => {
    expect(inTicks(raw)).toBe(usd);
  });

  const noCosts = ["-0.01", "-1", "null", "true", "{}", "[1]", '""', '"free"', '"1 USD"', '"-2"'];
  test.each(noCosts)("of %s is not a cost", (raw) => {
    expect(inUsd(raw)).toBeUndefined();
    expect(inTicks(raw)).toBeUndefined();
  });

  const tooLarge = ["1e16", "1e999", "1".repeat(200_000), `1e${"9".repeat(200_000)}`];
  test.each(tooLarge)(
    "that is too large for any bill is read as the largest amount (case %#)",
    (raw) => {
      expect(inUsd(raw)).toBe(hugeUsd);
      expect(parseUsdToPico(hugeUsd)).toBeDefined();
    },
  );

  const tooSmall = ["1e-60", "1e-99999999999999999999", `0.${"0".repeat(100_000)}1`];
  test.each(tooSmall)("that is too small to count is read as 0 (case %#)", (raw) => {
    expect(inUsd(raw)).toBe("0");
    expect(inTicks(raw)).toBe("0");
  });

  test("is read in dollars first, and in ticks if there are no dollars", () => {
    const both = (cost: string): string | undefined =>
      readReportedCost(`{"usage":{"cost":${cost},"cost_in_usd_ticks":20000000000}}`);
    expect(both("1")).toBe("1");
    expect(both("null")).toBe("2");
    expect(both("-1")).toBe("2");
  });

  const others = ["{}", "[]", '{"cost":1}', '{"usage":null}', '{"usage":[1]}', '{"usage":{}}', "7"];
  test.each(others)("is not read from %s", (text) => {
    expect(readReportedCost(text)).toBeUndefined();
  });
});

/** Number texts with a point and an exponent, and the digits and the power of ten they mean. */
const written = fc
  .record({
    digits: fc.bigInt({ min: 0n, max: 10n ** 14n - 1n }),
    places: fc.nat({ max: 20 }),
    exponent: fc.integer({ min: -12, max: 1 }),
  })
  .map(({ digits, places, exponent }) => {
    const text = digits.toString().padStart(places + 1, "0");
    const at = text.length - places;
    const number = places === 0 ? text : `${text.slice(0, at)}.${text.slice(at)}`;
    return { digits, shift: exponent - places, raw: `${number}e${exponent}` };
  });

test("every number means the same amount after reading, to the last pico-dollar", () => {
  const picoOf = (digits: bigint, shift: number): bigint =>
    shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift);
  fc.assert(
    fc.property(written, ({ digits, shift, raw }) => {
      expect(parseUsdToPico(inUsd(raw) ?? "")).toBe(picoOf(digits, shift + 12));
      expect(parseUsdToPico(inTicks(raw) ?? "")).toBe(picoOf(digits, shift + 2));
    }),
  );
});
