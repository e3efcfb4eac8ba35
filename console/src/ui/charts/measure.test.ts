import { describe, expect, test } from "vitest";

import { formatShare } from "../format.ts";
import { measureLength, scaleFor, showTick, showWhole, toWhole } from "./measure.ts";

describe("an amount of a chart", () => {
  test("keeps every micro-dollar", () => {
    const sum = toWhole("usd", "90071992547.409931") + toWhole("usd", "0.000001");
    expect(showWhole("usd", sum)).toBe("$90,071,992,547.409932");
  });

  test("is 0 where nothing was measured", () => {
    expect(toWhole("ms", null)).toBe(0n);
    expect(toWhole("usd", undefined)).toBe(0n);
  });

  test("is shortened on the scale without losing digits", () => {
    expect(showTick("usd", 2_000_000n)).toBe("$2");
    expect(showTick("usd", 500_000n)).toBe("$0.50");
    expect(showTick("usd", 2_500n)).toBe("$0.0025");
    expect(showTick("usd", 20_000_000n)).toBe("$20");
    expect(showTick("usd", 0n)).toBe("$0");
    expect(showTick("count", 12_000n)).toBe("12K");
    expect(showTick("ms", 1_500n)).toBe("1.5 s");
  });
});

describe("a scale", () => {
  test("reaches the highest amount from 0 in at most four steps", () => {
    for (const highest of [1n, 3n, 7n, 19n, 1_932n, 123_456_789n, 10n ** 15n + 1n]) {
      const { top, ticks } = scaleFor(highest);
      expect(top).toBeGreaterThanOrEqual(highest);
      expect(top).toBeLessThan(highest * 3n + 5n);
      expect(ticks.length).toBeLessThanOrEqual(5);
      expect(ticks[0]).toBe(0n);
      expect(ticks.at(-1)).toBe(top);
    }
  });

  test("still has a height if every amount is 0", () => {
    expect(scaleFor(0n)).toEqual({ top: 1n, ticks: [0n, 1n] });
  });
});

test.each([
  [0, "0%"],
  [0.000_1, "<0.1%"],
  [0.025, "2.5%"],
  [0.999_9, "99.9%"],
  [1, "100%"],
])("the share %d is shown as %s", (share, shown) => {
  expect(formatShare(share)).toBe(shown);
});

test("a drawn length is the amount's share of the whole, limited to the range from 0 to 1", () => {
  expect(measureLength(1n, 4n)).toBe(0.25);
  expect(measureLength(9n, 4n)).toBe(1);
  expect(measureLength(-1n, 4n)).toBe(0);
  expect(measureLength(1n, 0n)).toBe(0);
});
