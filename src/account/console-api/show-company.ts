import type { Company, Seller } from "../billing/company.ts";
import type { CompanyData, Issuer } from "./contract.ts";

export function shownCompany(company: Company): CompanyData {
  const { taxId } = company;
  return {
    legal_name: company.legalName,
    address_lines: [...company.addressLines],
    city: company.city,
    postal_code: company.postalCode,
    country: company.country,
    tax_id: taxId === null ? null : { ...taxId },
    billing_email: company.billingEmail,
    purchase_order: company.purchaseOrder,
  };
}

/** The issuer of a statement or a receipt. */
export function shownIssuer({ name, addressLines, taxId, note, url }: Seller): Issuer {
  return {
    name: name || null,
    address_lines: [...addressLines],
    tax_id: taxId || null,
    note: note || null,
    url,
  };
}
