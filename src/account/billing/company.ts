import type { TaxIdType } from "../../kernel/index.ts";

/** Who an organization is on its statements, receipts and invoices. Plain text, one line each. */
export interface Company {
  readonly legalName: string;
  /** Street and the like, three lines at most. */
  readonly addressLines: readonly string[];
  readonly city: string;
  /** Empty: the country has none. */
  readonly postalCode: string;
  /** ISO 3166-1, two capital letters. */
  readonly country: string;
  readonly taxId: { readonly type: TaxIdType; readonly value: string } | null;
  /** Kept with the company data; nothing is sent there yet. Empty: none. */
  readonly billingEmail: string;
  /** The customer's own purchase-order number; empty: none. */
  readonly purchaseOrder: string;
}

/** How a tax id is written, without its blanks, dots and hyphens. */
const TAX_ID_FORMATS: Readonly<Record<TaxIdType, RegExp>> = {
  eu_vat:
    /^(AT|BE|BG|CY|CZ|DE|DK|EE|EL|ES|FI|FR|HR|HU|IE|IT|LT|LU|LV|MT|NL|PL|PT|RO|SE|SI|SK|XI)[0-9A-Z+*]{2,12}$/,
  gb_vat: /^GB([0-9]{9}|[0-9]{12}|(GD|HA)[0-9]{3})$/,
  ch_vat: /^CHE[0-9]{9}(MWST|TVA|IVA)?$/,
  no_vat: /^[0-9]{9}(MVA)?$/,
  us_ein: /^[0-9]{9}$/,
  ca_bn: /^[0-9]{9}([A-Z]{2}[0-9]{4})?$/,
  au_abn: /^[0-9]{11}$/,
  nz_gst: /^[0-9]{8,9}$/,
  in_gst: /^[0-9]{2}[A-Z]{5}[0-9]{4}[A-Z][0-9A-Z]{3}$/,
  jp_trn: /^T[0-9]{13}$/,
  sg_gst: /^[0-9A-Z]{9,10}$/,
  br_cnpj: /^[0-9A-Z]{12}[0-9]{2}$/,
  other: /^[0-9A-Z/]{2,30}$/,
};

/** Is it written as one of this kind is? Blanks, dots, slashes and hyphens between are allowed. */
export function isTaxIdOf(type: TaxIdType, value: string): boolean {
  const bare = value.toUpperCase().replaceAll(type === "other" ? /[ .-]/g : /[ ./-]/g, "");
  return TAX_ID_FORMATS[type].test(bare);
}
