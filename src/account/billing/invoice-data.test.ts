import { expect, test } from "vitest";

import { invoiceDataOf } from "./invoice-data.ts";

const COMPANY = {
  legalName: "Acme Ltd",
  addressLines: ["1 Main St", "Floor 2"],
  city: "London",
  postalCode: "EC1A 1BB",
  country: "GB",
  taxId: { type: "gb_vat", value: "GB 123 4567 89" },
  billingEmail: "",
  purchaseOrder: "PO-77",
} as const;

test("an invoice names the company, its address, tax id and purchase order", () => {
  expect(invoiceDataOf(COMPANY)).toEqual({
    custom_fields: [
      { name: "Company", value: "Acme Ltd" },
      { name: "Address", value: "1 Main St, Floor 2, EC1A 1BB London, GB" },
      { name: "Tax ID", value: "GB 123 4567 89" },
      { name: "Purchase order", value: "PO-77" },
    ],
  });
});

test("what a company has not given is no field, and a long address is cut where Stripe cuts it", () => {
  const long = { ...COMPANY, addressLines: ["x".repeat(100), "y".repeat(100)] };
  const { custom_fields: fields } = invoiceDataOf({ ...long, taxId: null, purchaseOrder: "" });
  expect(fields === "" ? [] : fields?.map(({ name, value }) => [name, value.length])).toEqual([
    ["Company", 8],
    ["Address", 140],
  ]);
});
