import type { PoolClient } from "pg";
import type { OrgId } from "../../kernel/index.ts";
import { requestIdFrom } from "../../ledger/index.ts";
import { attemptsOutsideSql } from "./report-parts.ts";

/**
 * The days whose sums of this organization hold, `YYYY-MM-DD`, oldest first, for this transaction.
 * No day leaves the journal until it ends: what is not in these days is in the journal.
 */
export async function findRolledDays(client: PoolClient, orgId: OrgId): Promise<readonly string[]> {
  await client.query("lock table only attempt in access share mode");
  const { rows } = await client.query<{ day: string }>(ROLLED_DAYS_SQL, [orgId]);
  return rows.map(({ day }) => day);
}

const ROLLED_DAYS_SQL = `
  select to_char(r.day, 'YYYY-MM-DD') as day from usage_rolled r
  where r.org_id = $1
    and exists (select from usage_day d where d.day = r.day)
    and not exists (select from usage_stale s where s.org_id = r.org_id and s.day = r.day)
    and not exists (select from retired_day d where d.day = r.day)
  order by r.day`;

/**
 * Requests that are in no sum, or not wholly: of these milliseconds by their ids, or of all time. A
 * list and not a join, so that the planner knows how few they are.
 */
export async function findUnrolledRequestIds(
  client: PoolClient,
  orgId: OrgId,
  range?: { readonly fromMs: number; readonly toMs: number },
): Promise<readonly string[]> {
  const { fromMs = 0, toMs = LAST_MS } = range ?? {};
  const { rows } = await client.query<{ request_id: string }>(UNROLLED_REQUEST_IDS_SQL, [
    orgId,
    requestIdFrom(fromMs),
    requestIdFrom(toMs),
  ]);
  return rows.map((row) => row.request_id);
}

const LAST_MS = 2 ** 48 - 1;

const UNROLLED_REQUEST_IDS_SQL = `
  select distinct request_id from usage_unrolled
  where org_id = $1 and request_id >= $2::uuid and request_id < $3::uuid`;

/** $1 organization, $2 its rolled days, $3 its separate requests: attempts that no sum holds. */
export function unsummedSql(columns: string, rolledDays: readonly string[]): string {
  return `(
    select ${columns} from journal where org_id = $1 and ${attemptsOutsideSql(rolledDays)}
    union all
    select ${columns} from journal where org_id = $1 and request_id = any ($3::uuid[])
      and attempt_day(attempt_id) = any ($2::date[]))`;
}
