import type { PoolClient } from "pg";

import {
  ATTEMPT_OUTCOMES,
  CLIENT_LEFT,
  type ManagedOrigin,
  type OrgId,
  REFUSALS,
  type RequestStatus,
  toRequestStatus,
} from "../../kernel/index.ts";
import { readCreatedAt, requestIdFrom, TWO_DAYS_OF_IDS } from "../../ledger/index.ts";
import { MANAGED_SQL } from "../accounts/key-store.ts";
import {
  attemptsOutsideSql,
  type Bind,
  DAY_MS,
  findRolledDays,
  isoDay,
  TOKENS,
  TOKENS_AND_DEBIT,
} from "./report-parts.ts";

/* In all SQL of this file, $1 is the organization. */

export interface ReportFilter {
  readonly orgId: OrgId;
  /** `fromMs` is inclusive and `toMs` exclusive; both are compared with the request id's time. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Matches requests of any of these models; absent means all. */
  readonly modelIds?: readonly string[];
  /** Matches requests whose last attempt was at one of these providers. */
  readonly providerIds?: readonly string[];
  /** Matches keys in `keyIds`, and managed keys of one of the origins in `managed`. */
  readonly keyIds?: readonly string[];
  readonly managed?: readonly ManagedOrigin[];
  readonly statuses?: readonly RequestStatus[];
}

/** The end of a request as the daily sums store it; its public status is derived from it later. */
export const END_SQL: string = `case when outcome = 'completed' then 'ok'
      when attempts = 0 then 'none/' || error_class
      else outcome || '/' || coalesce(error_class, '') end`;

/** The public status of an end, generated from `toRequestStatus`, so that both agree. */
export function statusOfEndSql(end: string): string {
  const whens = ATTEMPT_OUTCOMES.flatMap((outcome) => {
    const classifyEnd = (errorClass: string | null): string =>
      toRequestStatus({ attempts: 1, outcome, errorClass });
    const others = Object.keys(REFUSALS).filter((each) => classifyEnd(each) !== classifyEnd(null));
    return [
      ...others.map((each) => `when ${end} = '${outcome}/${each}' then '${classifyEnd(each)}'`),
      `when ${end} like '${outcome}/%' then '${classifyEnd(null)}'`,
    ];
  });
  return `case when ${end} = 'ok' then 'succeeded'
      when ${end} = 'none/${CLIENT_LEFT}' then 'cancelled'
      when ${end} like 'none/%' then 'rejected_by_gateway'
      ${whens.join("\n      ")}
      else 'failed' end`;
}

/** A column of a request's final `attempt` row plus its sum over the earlier attempts. */
export function withEarlier(column: string, of = ""): string {
  const [own, earlier] = [`${of}${column}`, `(${of}earlier).${column}`];
  return `coalesce(${own} + ${earlier}, ${own}, ${earlier})`;
}

const sumsSql = (of = ""): string =>
  [
    ...TOKENS.map((column) => `${withEarlier(column, of)} as ${column}`),
    `coalesce(${withEarlier("debit", of)}, 0) as debit`,
    `${withEarlier("duration_ms", of)}::integer as duration_ms`,
  ].join(", ");

export const ENDED_COLUMNS_SQL: string = `request_id, key_id, model_id, provider_id, route, stream,
      1 + coalesce((earlier).attempts, 0) as attempts, coalesce(outcome, 'failed') as outcome,
      error_class, first_byte_ms, basis, ${sumsSql()}`;

/** Selects ended requests. The row of the final attempt has the figures of the whole request. */
export function endedRequestsSql(where: string): string {
  return `select ${ENDED_COLUMNS_SQL} from attempt where final and org_id = $1 and ${where}
      and request_id not in (select request_id from hold where org_id = $1 and not annulled)`;
}

/**
 * Selects requests with an open attempt, which are few, with the usage of their finished attempts.
 * A finished attempt may have a later ordinal than the open one. Each request is looked up
 * separately, because a join over many holds would make the planner read all attempts.
 */
export function openRequestsSql(where: string): string {
  const ofLast = (column: string, ofOpen: string): string =>
    `case when (h.ordinal, h.attempt_id) < (a.ordinal, a.attempt_id) then a.${column}
        else ${ofOpen} end as ${column}`;
  return `
    select h.request_id, h.key_id, h.model_id, ${ofLast("provider_id", "h.provider_id")}, h.route,
      h.stream,
      h.open + case when a.final then 1 + coalesce((a.earlier).attempts, 0) else 0 end as attempts,
      'in_flight' as outcome, ${ofLast("error_class", "null")}, ${ofLast("first_byte_ms", "null")},
      ${ofLast("basis", "null")}, ${sumsSql("a.")}
    from (
      select distinct on (request_id) *, count(*) over (partition by request_id) as open
      from hold where org_id = $1 and not annulled and ${where}
      order by request_id, ordinal desc, attempt_id desc
    ) h left join lateral (${FINAL_OF_HOLD_SQL}) a on true`;
}

const FINAL_OF_HOLD_SQL = `
      select * from attempt f where f.org_id = h.org_id and f.request_id = h.request_id and f.final
        and f.attempt_id > h.attempt_id - ${TWO_DAYS_OF_IDS}
        and f.attempt_id < h.attempt_id + ${TWO_DAYS_OF_IDS} offset 0`;

export const REFUSED_COLUMNS_SQL: string = `request_id, key_id, model_id, null as provider_id, route,
      stream, 0::bigint as attempts, 'refused' as outcome, error_class,
      null::integer as first_byte_ms, null as basis,
      ${TOKENS.map((column) => `null::bigint as ${column}`).join(", ")}, 0::bigint as debit,
      null::integer as duration_ms`;

/** False if the filter's statuses or providers exclude refused requests. */
export function mayBeRefused({ providerIds, statuses }: ReportFilter): boolean {
  const isAsked = statuses?.some((each) => each === "rejected_by_gateway" || each === "cancelled");
  return providerIds === undefined && isAsked !== false;
}

/** Keys that the marketplace made for its own use. Reports show their purpose instead of a name. */
export const MANAGED_KEYS_SQL: string = `
  select key_id as managed_id, origin from api_key where org_id = $1 and ${MANAGED_SQL}`;

/** Returns the SQL condition of a filter. Managed keys cannot be selected by their ids. */
export function matchSql(
  { modelIds, providerIds, keyIds, managed, statuses }: ReportFilter,
  status: string,
  $: Bind,
): string {
  const matchAny = (column: string, values: readonly string[] | undefined, also = ""): string[] =>
    values === undefined ? [] : [`${column} = any (${$(values)}::text[])${also}`];
  const keys = [
    ...matchAny("key_id", keyIds, ` and not ${MANAGED_SQL}`),
    ...matchAny("origin", managed),
  ].join(" or ");
  return [
    "true",
    ...matchAny("model_id", modelIds),
    ...matchAny("provider_id", providerIds),
    ...(keys === ""
      ? []
      : [`key_id in (select key_id from api_key where org_id = $1 and (${keys}))`]),
    ...matchAny(status, statuses),
  ].join(" and ");
}

/** A range of request ids: `from` is inclusive, `end` exclusive. */
export interface RequestSpan {
  readonly from: string;
  readonly end: string;
}

export function toRequestSpan({ fromMs = 0, toMs = LAST_MS }: Partial<ReportFilter>): RequestSpan {
  return { from: requestIdFrom(fromMs), end: requestIdFrom(toMs) };
}

/** The last time that fits in a request id. */
export const LAST_MS = 2 ** 48 - 1;

export interface SummedSpan extends RequestSpan {
  readonly wholeFromMs: number;
  readonly wholeToMs: number;
  readonly rolledDays: readonly string[];
}

/** Dates are written with a year of four digits, so later days cannot be named. */
const LAST_DAY_MS = Date.UTC(9999, 11, 31);

/** Call it in the transaction that reads the sums. */
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
 * Reads exactly once each request of a span that reached a provider: from its own row
 * (`request_id`) or from a daily sum (`request_day`). If a request in a sum is in flight again, it
 * is subtracted.
 */
export function attemptedSql(of: SummedSpan, $: Bind): string {
  const { rolledDays, wholeFromMs, wholeToMs } = of;
  const between = (from: string, end: string): string =>
    `(request_id >= ${$(from)}::uuid and request_id < ${$(end)}::uuid)`;
  const isOf = between(of.from, of.end);
  const one = (requests: string, sign = 1): string => `
      select request_id, null::date as request_day, key_id, model_id, provider_id,
        ${END_SQL} as ended, first_byte_span(first_byte_ms) as span, ${sign}::bigint as requests,
        ${TOKENS_AND_DEBIT.map((column) => `${sign} * coalesce(${column}, 0) as ${column}`).join(", ")}
      from (${requests}) r`;
  const open = one(openRequestsSql(isOf));
  if (rolledDays.length === 0) return [one(endedRequestsSql(isOf)), open].join(UNION_SQL);
  const [wholeFrom, wholeEnd] = [requestIdFrom(wholeFromMs), requestIdFrom(wholeToMs)];
  const isWhole = between(wholeFrom, wholeEnd);
  const isApart = `(${between(of.from, wholeFrom)} or ${between(wholeEnd, of.end)})`;
  const days = `any (${$(rolledDays)}::date[])`;
  const takenBack = `select ${ENDED_COLUMNS_SQL}
        from (
          select a.* from (
            select org_id, request_id, min(attempt_id) as attempt_id from hold
            where org_id = $1 and not annulled and ${isOf} and ${isWhole} group by 1, 2
          ) h cross join lateral (${FINAL_OF_HOLD_SQL}) a
        ) a where attempt_day(attempt_id) = ${days}`;
  return [
    one(endedRequestsSql(isApart)),
    one(endedRequestsSql(`${isWhole} and ${attemptsOutsideSql(rolledDays)}`)),
    open,
    one(takenBack, -1),
    `
      select null, request_day, key_id, model_id, provider_id, status, null, requests,
        ${TOKENS_AND_DEBIT.join(", ")}
      from usage_sum where ${inSumsSql(of, $)}`,
  ].join(UNION_SQL);
}

export function inSumsSql(of: SummedSpan, $: Bind): string {
  return `org_id = $1 and day = any (${$(of.rolledDays)}::date[])
      and request_day >= ${$(isoDay(of.wholeFromMs))}::date
      and request_day < ${$(isoDay(of.wholeToMs))}::date`;
}

export const UNION_SQL = `
      union all`;
