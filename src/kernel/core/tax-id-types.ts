/** The types of tax ids that a customer can state. Only the form of an id is checked. */
export const TAX_ID_TYPES = [
  "eu_vat",
  "gb_vat",
  "ch_vat",
  "no_vat",
  "us_ein",
  "ca_bn",
  "au_abn",
  "nz_gst",
  "in_gst",
  "jp_trn",
  "sg_gst",
  "br_cnpj",
  "other",
] as const;
export type TaxIdType = (typeof TAX_ID_TYPES)[number];
