import { describe, expect, test } from "vitest";

import { TAX_ID_TYPES } from "../../kernel/core/tax-id-types.ts";
import { toInvoiceData, isTaxId } from "./company.ts";

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
    expect(isTaxId(type, value)).toBe(true);
  });

  test.each([
    ["eu_vat", "US123456789"],
    ["gb_vat", "GB12345"],
    ["us_ein", "12-34567"],
    ["jp_trn", "1234567890123"],
    ["other", "<b>1</b>"],
    ["other", "x".repeat(31)],
  ] as const)("of kind %s must not be written %s", (type, value) => {
    expect(isTaxId(type, value)).toBe(false);
  });

  test.each(TAX_ID_TYPES)("of kind %s is never empty", (type) => {
    expect(isTaxId(type, " - ")).toBe(false);
  });
});

const COMPANY = {
  legalName: "Acme Ltd",
  addressLines: ["1 Main St", "Floor 2"],
  city: "London",
  postalCode: "EC1A 1BB",
  country: "GB",
  taxId: { type: "gb_vat", value: "GB 123 4567 89" },
  purchaseOrder: "PO-77",
} as const;

test("an invoice names the company, its address, tax id and purchase order", () => {
  expect(toInvoiceData(COMPANY)).toEqual({
    custom_fields: [
      { name: "Company", value: "Acme Ltd" },
      { name: "Address", value: "1 Main St, Floor 2, EC1A 1BB London, GB" },
      { name: "Tax ID", value: "GB 123 4567 89" },
      { name: "Purchase order", value: "PO-77" },
    ],
  });
});

test("an invoice omits missing company details and cuts a long address to 140 characters", () => {
  const long = { ...COMPANY, addressLines: ["x".repeat(100), "y".repeat(100)] };
  const { custom_fields: fields } = toInvoiceData({ ...long, taxId: null, purchaseOrder: "" });
  expect(fields === "" ? [] : fields?.map(({ name, value }) => [name, value.length])).toEqual([
    ["Company", 8],
    ["Address", 140],
  ]);
});

test("an invoice cuts no character in half, because the payment provider's client refuses one", () => {
  const legalName = `${"x".repeat(139)}𠮷野家`;
  const { custom_fields: fields } = toInvoiceData({ ...COMPANY, legalName });
  expect(fields === "" ? [] : fields?.[0]).toEqual({ name: "Company", value: "x".repeat(139) });
});
