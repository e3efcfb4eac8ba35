import type { PoolClient } from "pg";

import type { OrgId } from "../../kernel/index.ts";
import { readCreatedAt, requestIdFrom } from "../../ledger/index.ts";
import {
  attemptsOutsideSql,
  type Bind,
  DAY_MS,
  findRolledDays,
  isoDay,
  TOKENS_AND_DEBIT,
} from "./report-parts.ts";
import {
  ENDED_COLUMNS_SQL,
  endedOfOpenSql,
  endedRequestsSql,
  openRequestsSql,
} from "./request-rows.ts";
import { END_SQL } from "./request-status-sql.ts";

/** The first request id, and the one after the last. */
export interface RequestSpan {
  readonly from: string;
  readonly end: string;
}

/** Requests by their ids, with the whole days that can be read from sums. */
export interface SummedSpan extends RequestSpan {
  readonly wholeFromMs: number;
  readonly wholeToMs: number;
  /** Days whose sums hold, `YYYY-MM-DD`. */
  readonly rolledDays: readonly string[];
}

/** Days have names of four-figure years. */
const LAST_DAY_MS = Date.UTC(9999, 11, 31);

/** On one snapshot with what reads it. */
export async function findSums(
  client: PoolClient,
  orgId: OrgId,
  span: RequestSpan,
): Promise<SummedSpan> {
  const wholeFromMs = Math.ceil(readCreatedAt(span.from) / DAY_MS) * DAY_MS;
  const lastMs = Math.floor(readCreatedAt(span.end) / DAY_MS) * DAY_MS;
  const wholeToMs = Math.min(lastMs, LAST_DAY_MS);
  const hasDays = wholeFromMs < wholeToMs;
  const rolledDays = hasDays ? await findRolledDays(client, orgId) : [];
  return { ...span, wholeFromMs, wholeToMs, rolledDays };
}

/**
 * Every request of a span that reached a provider, with its end: from its own row (`request_id`) or
 * from a daily sum (`request_day`). Both give the same figures. If a request in a sum turns out to
 * be in flight, its row is subtracted.
 */
export function attemptedSql(of: SummedSpan, org: string, $: Bind): string {
  const { rolledDays, wholeFromMs, wholeToMs } = of;
  const between = (from: string, end: string): string =>
    `(request_id >= ${$(from)}::uuid and request_id < ${$(end)}::uuid)`;
  const isOf = between(of.from, of.end);
  const one = (requests: string, sign = 1): string => `
      select request_id, null::date as request_day, key_id, model_id, provider_id,
        ${END_SQL} as ended, first_byte_span(first_byte_ms) as span, ${sign}::bigint as requests,
        ${TOKENS_AND_DEBIT.map((column) => `${sign} * coalesce(${column}, 0) as ${column}`).join(", ")}
      from (${requests}) r`;
  const open = one(openRequestsSql(org, isOf));
  if (rolledDays.length === 0) return [one(endedRequestsSql(org, isOf)), open].join(UNION_SQL);
  const [wholeFrom, wholeEnd] = [requestIdFrom(wholeFromMs), requestIdFrom(wholeToMs)];
  const isWhole = between(wholeFrom, wholeEnd);
  const isApart = `(${between(of.from, wholeFrom)} or ${between(wholeEnd, of.end)})`;
  const days = `any (${$(rolledDays)}::date[])`;
  const takenBack = `select ${ENDED_COLUMNS_SQL}
        from (${endedOfOpenSql(org, `${isOf} and ${isWhole}`)}) a
        where attempt_day(attempt_id) = ${days}`;
  return [
    one(endedRequestsSql(org, isApart)),
    one(endedRequestsSql(org, `${isWhole} and ${attemptsOutsideSql(rolledDays)}`)),
    open,
    one(takenBack, -1),
    `
      select null, request_day, key_id, model_id, provider_id, status, null, requests,
        ${TOKENS_AND_DEBIT.join(", ")}
      from usage_sum where ${inSumsSql(of, org, $)}`,
  ].join(UNION_SQL);
}

/** Rows of `usage_sum` that are of a span. */
export function inSumsSql(of: SummedSpan, org: string, $: Bind): string {
  return `org_id = ${org} and day = any (${$(of.rolledDays)}::date[])
      and request_day >= ${$(isoDay(of.wholeFromMs))}::date
      and request_day < ${$(isoDay(of.wholeToMs))}::date`;
}

const UNION_SQL = `
      union all`;
