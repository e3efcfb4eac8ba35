import type { Stripe } from "stripe";

import type { Company } from "./company.ts";

const VALUE_CHARACTERS_MAX = 140;

type InvoiceData = NonNullable<
  NonNullable<Stripe.Checkout.SessionCreateParams["invoice_creation"]>["invoice_data"]
>;

/** What Stripe prints on the invoice of a purchase, of the company data: four fields at most. */
export function invoiceDataOf(company: Company): InvoiceData {
  const { legalName, addressLines, postalCode, city, country, taxId, purchaseOrder } = company;
  const place = [...addressLines, [postalCode, city].filter(Boolean).join(" "), country];
  const fields: readonly (readonly [string, string])[] = [
    ["Company", legalName],
    ["Address", place.join(", ")],
    ["Tax ID", taxId?.value ?? ""],
    ["Purchase order", purchaseOrder],
  ];
  const given = fields.filter(([, value]) => value !== "");
  return {
    custom_fields: given.map(([name, value]) => ({
      name,
      value: value.slice(0, VALUE_CHARACTERS_MAX),
    })),
  };
}
