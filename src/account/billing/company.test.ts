import { describe, expect, test } from "vitest";

import { TAX_ID_TYPES } from "../../kernel/core/tax-id-types.ts";
import { isTaxIdOf } from "./company.ts";

describe("a tax id", () => {
  test.each([
    ["eu_vat", "DE 123456789"],
    ["eu_vat", "ATU12345678"],
    ["gb_vat", "GB 123 4567 89"],
    ["ch_vat", "CHE-123.456.789 MWST"],
    ["us_ein", "12-3456789"],
    ["jp_trn", "T1234567890123"],
    ["br_cnpj", "12.345.678/0001-95"],
    ["in_gst", "22AAAAA0000A1Z5"],
    ["other", "12/345/67890"],
  ] as const)("of kind %s may be written %s", (type, value) => {
    expect(isTaxIdOf(type, value)).toBe(true);
  });

  test.each([
    ["eu_vat", "US123456789"],
    ["gb_vat", "GB12345"],
    ["us_ein", "12-34567"],
    ["jp_trn", "1234567890123"],
    ["other", "<b>1</b>"],
    ["other", "x".repeat(31)],
  ] as const)("of kind %s is not %s", (type, value) => {
    expect(isTaxIdOf(type, value)).toBe(false);
  });

  test.each(TAX_ID_TYPES)("of kind %s is never empty", (type) => {
    expect(isTaxIdOf(type, " - ")).toBe(false);
  });
});
