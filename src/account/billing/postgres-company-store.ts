import type { Pool, PoolClient } from "pg";

import {
  type ChangedBy,
  type ChangeLog,
  type Facts,
  maskedEmail,
  type OrgId,
  type Public,
  type TaxIdType,
  columns,
  type Columns,
  opaque,
  orNull,
  type Row,
  text,
} from "../../kernel/index.ts";
import type { Company } from "./company.ts";

/** Company data in PostgreSQL: one row for each organization that gave some. */
export class PostgresCompanyStore {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  /** Undefined: the organization has given none. */
  async find(orgId: OrgId): Promise<Company | undefined> {
    return await findCompany(this.#pool, orgId);
  }

  /** All fields at once. */
  async change(orgId: OrgId, company: Company, by: ChangedBy): Promise<void> {
    await this.#changes.write(by, async (client, note) => {
      await client.query("select from org where org_id = $1 for no key update", [orgId]);
      const known = await findCompany(client, orgId);
      const before = known === undefined ? null : factsOf(known);
      await client.query(SET_SQL, [
        orgId,
        company.legalName,
        [...company.addressLines],
        company.city,
        company.postalCode,
        company.country,
        company.taxId?.type ?? null,
        company.taxId?.value ?? null,
        company.billingEmail,
        company.purchaseOrder,
      ]);
      note({
        action: "company.change",
        orgId,
        target: orgId,
        before,
        after: factsOf(company),
        isMaskedChange: known?.billingEmail !== company.billingEmail,
      });
    });
  }
}

export type CompanyStore = Public<PostgresCompanyStore>;

const companyColumns: Columns<Company> = columns<Company>({
  legalName: text("legal_name"),
  addressLines: opaque("address_lines"),
  city: text("city"),
  postalCode: text("postal_code"),
  country: text("country"),
  taxId: orNull(columns({ type: text<TaxIdType>("tax_id_type"), value: text("tax_id") })),
  billingEmail: text("billing_email"),
  purchaseOrder: text("purchase_order"),
});

const FIND_SQL = `select ${companyColumns.sql} from org_company where org_id = $1`;

const SET_SQL = `
  insert into org_company (org_id, legal_name, address_lines, city, postal_code, country,
    tax_id_type, tax_id, billing_email, purchase_order)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
  on conflict (org_id) do update set legal_name = excluded.legal_name,
    address_lines = excluded.address_lines, city = excluded.city,
    postal_code = excluded.postal_code, country = excluded.country,
    tax_id_type = excluded.tax_id_type, tax_id = excluded.tax_id,
    billing_email = excluded.billing_email, purchase_order = excluded.purchase_order,
    changed_at = now()`;

async function findCompany(client: Pool | PoolClient, orgId: OrgId): Promise<Company | undefined> {
  const { rows } = await client.query<Row>(FIND_SQL, [orgId]);
  return rows[0] === undefined ? undefined : companyColumns.read(rows[0]);
}

function factsOf(company: Company): Facts {
  const { taxId } = company;
  return {
    legal_name: company.legalName,
    address_lines: company.addressLines,
    city: company.city,
    postal_code: company.postalCode,
    country: company.country,
    tax_id: taxId === null ? null : `${taxId.type} ${taxId.value}`,
    billing_email: company.billingEmail === "" ? "" : maskedEmail(company.billingEmail),
    purchase_order: company.purchaseOrder,
  };
}
