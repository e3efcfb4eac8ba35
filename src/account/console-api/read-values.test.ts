import { describe, expect, test } from "vitest";

import { microUsd } from "../../kernel/core/money.ts";
import { ConsoleRefusal } from "./console-refusal.ts";
import { readCap, readName, readRef } from "./read-values.ts";

describe("a cap field", () => {
  test.each([undefined, null, ""])("that is left blank (%j) changes nothing", (text) => {
    expect(readCap(text)).toBeUndefined();
  });

  test.each(["0", "0.0", "0.000000"])("of zero (%s) removes the cap", (text) => {
    expect(readCap(text)).toBeNull();
  });

  test.each([
    ["12.5", 12_500_000n],
    ["0.000001", 1n],
    ["999999999.999999", 999_999_999_999_999n],
  ])("of %s is exact to the micro-dollar", (text, amount) => {
    expect(readCap(text)).toBe(microUsd(amount));
  });
});

describe("a name", () => {
  test("loses the blanks around it and keeps those within", () => {
    expect(readName("  my key ")).toBe("my key");
  });

  test.each(["", "   "])("that is blank (%j) is refused", (text) => {
    expect(readName(text)).toBeInstanceOf(ConsoleRefusal);
  });
});

describe("a reference", () => {
  test.each(["invoice-17", "pur_01", "purchase 17", "credit:purchase:17"])(
    "such as %j loses only the blanks around it",
    (text) => {
      expect(readRef(` ${text} `)).toBe(text);
    },
  );

  test.each(["", "  ", "purchase:pur_01", " dispute-won:dp_1", "period:prov-a", "collect:7"])(
    "that is blank, or that the books give to entries of their own (%j), is refused",
    (text) => {
      expect(readRef(text)).toMatchObject({ status: 400, field: "ref" });
    },
  );
});
