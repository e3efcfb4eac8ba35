import type { Company } from "../billing/company.ts";
import type { OperationDeps } from "./console-deps.ts";
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

/** The issuer of statements and receipts: from the settings, or the address of the console. */
export function shownIssuer({
  config,
  consoleUrl,
}: Pick<OperationDeps, "config" | "consoleUrl">): Issuer {
  const { issuerName, issuerAddress, issuerTaxId, issuerNote } = config;
  const lines = issuerAddress.split("|").map((line) => line.trim());
  return {
    name: issuerName || null,
    address_lines: lines.filter((line) => line !== ""),
    tax_id: issuerTaxId || null,
    note: issuerNote || null,
    url: consoleUrl(),
  };
}
