import type { PoolClient } from "pg";

import { attemptIdFrom, type OrgId, SKU_NAMES, TOKEN_BUCKETS } from "../../kernel/index.ts";

export interface ReportQuery {
  readonly text: string;
  readonly values: unknown[];
}

export type Bind = (value: unknown) => string;

export const TOKENS: readonly string[] = Object.values(TOKEN_BUCKETS);
/** The columns of the token buckets, and of one-hour cache writes. */
export const SKUS: readonly string[] = Object.values(SKU_NAMES);
export const TOKENS_AND_DEBIT: readonly string[] = ["debit", ...TOKENS];

export const HOUR_MS = 3_600_000;
export const DAY_MS: number = 24 * HOUR_MS;

export function isoDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Returns the first attempt id of a UTC day and that of the day after; the day is `YYYY-MM-DD`. */
export function idsOfDay(day: string) {
  return idsOf(Date.parse(`${day}T00:00:00Z`), DAY_MS);
}

export function idsOf(startMs: number, lengthMs: number) {
  return { first: attemptIdFrom(startMs), end: attemptIdFrom(startMs + lengthMs) };
}

/** `days` must be sorted. Ids are literals, so that the planner skips the tables of these days. */
export function attemptsOutsideSql(days: readonly string[]): string {
  const ranges: string[] = [];
  let first = 0n;
  for (const day of days) {
    const ids = idsOfDay(day);
    if (ids.first > first) ranges.push(`(attempt_id >= ${first} and attempt_id < ${ids.first})`);
    first = ids.end;
  }
  return `(${[...ranges, `attempt_id >= ${first}`].join(" or ")})`;
}

/**
 * Returns the days for which this organization's sums are valid, oldest first. The table lock keeps
 * the attempts of all other days in the journal until the transaction ends, so that none is missed.
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
