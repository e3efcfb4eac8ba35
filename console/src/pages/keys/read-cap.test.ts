import { describe, expect, test } from "vitest";

import { plainUsd } from "../../ui/money-math.ts";
import { capInput, readCap } from "./caps.ts";

describe("a typed cap", () => {
  test.each(["", "   ", "$"])("changes nothing if it is blank (%j)", (text) => {
    expect(readCap(text)).toEqual({ kind: "unchanged" });
    expect(capInput(readCap(text))).toBeUndefined();
  });

  test.each(["0", "0.00", "$0", "000"])("removes the cap if it is %s", (text) => {
    expect(readCap(text)).toEqual({ kind: "removed" });
    expect(capInput(readCap(text))).toBe("0");
  });

  test.each([
    ["25", "25"],
    [" $0.000001 ", "0.000001"],
    ["999999999.999999", "999999999.999999"],
  ])("is sent to the micro-dollar as it was typed: %s", (text, sent) => {
    expect(readCap(text)).toEqual({ kind: "capped", capUsd: sent });
    expect(capInput(readCap(text))).toBe(sent);
  });

  test.each(["-1", "1.0000001", "1,000", "ten", "1e3", "1000000000"])(
    "is refused with a sentence before it is sent: %s",
    (text) => {
      const read = readCap(text);
      expect(read.kind).toBe("problem");
      expect(capInput(read)).toBeUndefined();
    },
  );
});

test("an amount written into a field is exact and has at least two decimals", () => {
  expect(plainUsd("25.000000")).toBe("25.00");
  expect(plainUsd("0.500000")).toBe("0.50");
  expect(plainUsd("1.000001")).toBe("1.000001");
  expect(plainUsd("0.123450")).toBe("0.12345");
});
