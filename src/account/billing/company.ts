import type { Pool, PoolClient } from "pg";
import type { Stripe } from "stripe";

import {
  type ChangedBy,
  type ChangeLog,
  columns,
  type Config,
  type Facts,
  type IssuerConfig,
  opaque,
  type OrgId,
  orNull,
  type Public,
  readRows,
  type RecordOf,
  type Row,
  takeStart,
  type TaxIdType,
  text,
} from "../../kernel/index.ts";

const companyColumns = columns({
  legalName: text("legal_name"),
  /** At most three lines, such as the street. */
  addressLines: opaque<readonly string[]>("address_lines"),
  city: text("city"),
  /** Empty if the country has no postal codes. */
  postalCode: text("postal_code"),
  /** ISO 3166-1 alpha-2. */
  country: text("country"),
  taxId: orNull(columns({ type: text<TaxIdType>("tax_id_type"), value: text("tax_id") })),
  purchaseOrder: text("purchase_order"),
});
export type Company = RecordOf<typeof companyColumns>;

/** `company` is null without company data; on a receipt, if there was none at the payment. */
export interface Buyer {
  readonly name: string;
  readonly company: Company | null;
}

export interface Seller {
  /** Empty if no name is set; the seller is then the installation at `url`. */
  readonly name: string;
  readonly addressLines: readonly string[];
  readonly taxId: string;
  readonly note: string;
  /** The reason that receipts print for charging no tax. */
  readonly noTaxReason: string;
  readonly url: string;
}

export function sellerOf(config: Pick<Config, keyof IssuerConfig>, url: string): Seller {
  const lines = config.issuerAddress.split("|").map((line) => line.trim());
  return {
    name: config.issuerName,
    addressLines: lines.filter((line) => line !== ""),
    taxId: config.issuerTaxId,
    note: config.issuerNote,
    noTaxReason: config.issuerNoTaxReason,
    url,
  };
}

/** A buyer as stored with the grant of a purchase; `company` is a row of `org_company`. */
export interface StoredBuyer {
  readonly name: string;
  readonly company: Row | null;
}

export function buyerOf({ name, company }: StoredBuyer): Buyer {
  return { name, company: company === null ? null : companyColumns.read(company) };
}

/** Each format matches an id in capitals and without separators, as `isTaxId` passes it. */
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

/** Checks only the format. Ignores blanks, dots and hyphens, and slashes except for `other`. */
export function isTaxId(type: TaxIdType, value: string): boolean {
  const bare = value.toUpperCase().replaceAll(type === "other" ? /[ .-]/g : /[ ./-]/g, "");
  return TAX_ID_FORMATS[type].test(bare);
}

const VALUE_CHARACTERS_MAX = 140;

type InvoiceData = NonNullable<
  NonNullable<Stripe.Checkout.SessionCreateParams["invoice_creation"]>["invoice_data"]
>;

/** Builds the company data that Stripe prints on an invoice; Stripe accepts four fields at most. */
export function toInvoiceData(company: Company): InvoiceData {
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
      value: takeStart(value, VALUE_CHARACTERS_MAX),
    })),
  };
}

export class PostgresCompanyStore {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  async find(orgId: OrgId): Promise<Company | undefined> {
    return await findCompany(this.#pool, orgId);
  }

  async change(orgId: OrgId, company: Company, by: ChangedBy): Promise<void> {
    await this.#changes.write(by, async (client, note) => {
      await client.query("select from org where org_id = $1 for no key update", [orgId]);
      const known = await findCompany(client, orgId);
      const before = known === undefined ? null : toFacts(known);
      await client.query(SET_SQL, [
        orgId,
        company.legalName,
        [...company.addressLines],
        company.city,
        company.postalCode,
        company.country,
        company.taxId?.type ?? null,
        company.taxId?.value ?? null,
        company.purchaseOrder,
      ]);
      const facts = { before, after: toFacts(company) };
      note({ action: "company.change", orgId, target: orgId, ...facts });
    });
  }
}

export type CompanyStore = Public<PostgresCompanyStore>;

const FIND_SQL = `select ${companyColumns.sql} from org_company where org_id = $1`;

const SET_SQL = `
  insert into org_company (org_id, legal_name, address_lines, city, postal_code, country,
    tax_id_type, tax_id, purchase_order)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
  on conflict (org_id) do update set legal_name = excluded.legal_name,
    address_lines = excluded.address_lines, city = excluded.city,
    postal_code = excluded.postal_code, country = excluded.country,
    tax_id_type = excluded.tax_id_type, tax_id = excluded.tax_id,
    purchase_order = excluded.purchase_order, changed_at = now()`;

async function findCompany(client: Pool | PoolClient, orgId: OrgId): Promise<Company | undefined> {
  return (await readRows(client, companyColumns, FIND_SQL, [orgId]))[0];
}

function toFacts(company: Company): Facts {
  const { taxId } = company;
  return {
    legal_name: company.legalName,
    address_lines: company.addressLines,
    city: company.city,
    postal_code: company.postalCode,
    country: company.country,
    tax_id: taxId === null ? null : `${taxId.type} ${taxId.value}`,
    purchase_order: company.purchaseOrder,
  };
}
