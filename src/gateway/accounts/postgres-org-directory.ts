import {
  type Public,
  bool,
  columns,
  type Columns,
  computed,
  count,
  queryInTime,
  type Row,
} from "../../kernel/index.ts";
import type { Pool } from "pg";

import type { ListedOrg } from "./org-directory.ts";
import { ORG_AND_WALLET_SQL, orgSummary } from "./org-rows.ts";

/** All organizations of the installation: for operators, never for a customer. */
export class PostgresOrgDirectory {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Newest first. `search` is a part of the name, the e-mail or the id; empty: all. */
  async page(asked: {
    readonly search: string;
    readonly after?: string;
    readonly limit: number;
  }): Promise<readonly ListedOrg[]> {
    const { search, after = null, limit } = asked;
    const query = { text: PAGE_SQL, values: [search.trim(), after, limit] };
    return (await queryInTime<Row>(this.#pool, query)).rows.map(orgColumns.read);
  }

  async find(orgId: string): Promise<ListedOrg | undefined> {
    const query = { text: FIND_SQL, values: [orgId] };
    const [row] = (await queryInTime<Row>(this.#pool, query)).rows;
    return row === undefined ? undefined : orgColumns.read(row);
  }
}

export type OrgDirectory = Public<PostgresOrgDirectory>;

const orgColumns: Columns<ListedOrg> = columns<ListedOrg>({
  ...orgSummary,
  hasBought: computed("o.bought_at is not null", bool("has_bought")),
  restrictions: computed(
    `(select count(*) from usage_hold h where h.org_id = o.org_id and h.lifted_at is null
      and (h.until_at is null or h.until_at > now()) and o.bought_at is null)`,
    count("restrictions"),
  ),
});

// The page is cut before anything is counted.
const PAGE_SQL = `
  with o as (
    select * from org
    where ($1 = '' or position(lower($1) in lower(name || ' ' || email || ' ' || org_id)) > 0)
      and ($2::text is null
        or (created_at, org_id) < (select l.created_at, l.org_id from org l where l.org_id = $2))
    order by created_at desc, org_id desc limit $3
  )
  select ${orgColumns.sqlOf("o")}
  from o join account w on w.account_id = 'wallet:' || o.org_id
  order by o.created_at desc, o.org_id desc`;

const FIND_SQL = `
  select ${orgColumns.sqlOf("o")}
  ${ORG_AND_WALLET_SQL} where o.org_id = $1`;
