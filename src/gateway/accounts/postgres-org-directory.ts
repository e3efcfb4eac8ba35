import type { Pool, PoolClient } from "pg";

import {
  bool,
  type Change,
  columns,
  computed,
  count,
  type Facts,
  instantMs,
  maskedEmail,
  micro,
  type Note,
  type OrgId,
  orNull,
  type Public,
  readRowsInTime,
  type RecordOf,
  text,
} from "../../kernel/index.ts";

const orgProperties = {
  orgId: text<OrgId>("org_id"),
  name: text<string>("name"),
  email: text<string>("email"),
  balanceMicroUsd: computed("w.credits - w.debits - w.owed", micro("balance")),
  heldMicroUsd: computed("w.reserved", micro("held")),
  createdAtMs: instantMs("created_at"),
  capMicroUsd: orNull(micro("cap_micro_usd")),
  isFunded: computed("o.funded_at is not null", bool("is_funded")),
  keysMaySetOrgLimits: bool("keys_may_set_org_limits"),
} as const;
export const orgColumns = columns(orgProperties);
export type OrgSummary = RecordOf<typeof orgColumns>;

export const ORG_AND_WALLET_SQL =
  "from org o join account w on w.account_id = 'wallet:' || o.org_id";

/** Inserts an organization and its wallet. $1 id, $2 name, $3 e-mail, $4 whether it is verified. */
export const CREATE_ORG_SQL = `
  with made as (
    insert into org (org_id, name, email, email_verified) values ($1, $2, $3, $4) returning org_id
  )
  insert into account (account_id, org_id, must_cover)
  select 'wallet:' || org_id, org_id, true from made`;

export function createdOrg(orgId: OrgId, name: string, email: string): Change {
  const after = { name, email: maskedEmail(email) };
  return { action: "org.create", orgId, target: orgId, before: null, after };
}

/** Sets a column of an organization. Returns false if there is no such organization. */
export async function changeOrg<T>(
  client: PoolClient,
  note: Note,
  change: {
    readonly orgId: string;
    readonly action: Change["action"];
    readonly column: string;
    readonly value: T;
    readonly toFacts: (value: T) => Facts;
  },
): Promise<boolean> {
  const { action, column, value, toFacts } = change;
  const { rows } = await client.query<{ org_id: OrgId; was: T }>(
    `update org o set ${column} = $2
    from (select org_id, ${column} as was from org where org_id = $1 for no key update) old
    where o.org_id = old.org_id returning o.org_id, was`,
    [change.orgId, value],
  );
  if (rows[0] === undefined) return false;
  const { org_id: orgId, was } = rows[0];
  note({ action, orgId, target: orgId, before: toFacts(was), after: toFacts(value) });
  return true;
}

/** Reads all organizations of the installation. Only operators may see them, never a customer. */
export class PostgresOrgDirectory {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /**
   * Returns one page of organizations, newest first. `search` is a part of the name, the e-mail or
   * the id; empty matches all. `after` is the last id of the previous page.
   */
  async page(asked: {
    readonly search: string;
    readonly after?: string;
    readonly limit: number;
  }): Promise<readonly ListedOrg[]> {
    const { search, after = null, limit } = asked;
    const values = [search.trim(), after, limit];
    return await readRowsInTime(this.#pool, listedColumns, PAGE_SQL, values);
  }

  async find(orgId: string): Promise<ListedOrg | undefined> {
    return (await readRowsInTime(this.#pool, listedColumns, FIND_SQL, [orgId]))[0];
  }

  async names(orgIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await readRowsInTime(this.#pool, nameColumns, NAMES_SQL, [orgIds]);
    return new Map(rows.map(({ orgId, name }) => [orgId, name]));
  }
}

export type OrgDirectory = Public<PostgresOrgDirectory>;

const listedColumns = columns({
  ...orgProperties,
  /** True if the organization has bought credit, or was granted credit that counts as bought. */
  hasBought: computed("o.bought_at is not null", bool("has_bought")),
  hasPurchase: computed(
    "exists (select from purchase p where p.org_id = o.org_id and p.granted_at is not null)",
    bool("has_purchase"),
  ),
  spentMonthMicroUsd: computed(
    `coalesce((select s.settled from spend s where s.scope = 'org' and s.id = o.org_id
      and s.month = date_trunc('month', now() at time zone 'utc')::date), 0)`,
    micro("spent_month"),
  ),
  restrictions: computed(
    `(select count(*) from usage_hold h where h.org_id = o.org_id and h.lifted_at is null
      and (h.until_at is null or h.until_at > now()) and o.bought_at is null)`,
    count("restrictions"),
  ),
});
export type ListedOrg = RecordOf<typeof listedColumns>;

// Selects the page first, so that the columns' subqueries run only for its rows.
const PAGE_SQL = `
  with o as (
    select * from org
    where ($1 = '' or position(lower($1) in lower(name || ' ' || email || ' ' || org_id)) > 0)
      and ($2::text is null
        or (created_at, org_id) < (select l.created_at, l.org_id from org l where l.org_id = $2))
    order by created_at desc, org_id desc limit $3
  )
  select ${listedColumns.sqlOf("o")}
  from o join account w on w.account_id = 'wallet:' || o.org_id
  order by o.created_at desc, o.org_id desc`;

const FIND_SQL = `select ${listedColumns.sqlOf("o")} ${ORG_AND_WALLET_SQL} where o.org_id = $1`;

const nameColumns = columns({ orgId: orgProperties.orgId, name: orgProperties.name });
const NAMES_SQL = `select ${nameColumns.sql} from org where org_id = any($1)`;
