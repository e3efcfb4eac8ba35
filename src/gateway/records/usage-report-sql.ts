import { MANAGED_SQL } from "../accounts/key-store.ts";
import {
  REPORT_DAYS_MAX,
  REPORT_GROUPS_MAX,
  REPORT_SERIES_GROUPS_MAX,
  REQUEST_STATUSES,
  type RequestStatus,
  unreachable,
} from "../../kernel/index.ts";
import { requestIdFrom } from "../../ledger/index.ts";
import {
  attemptsOutsideSql,
  type Bind,
  type ReportQuery,
  TOKENS,
  TOKENS_AND_DEBIT,
} from "./report-parts.ts";
import { ENDED_COLUMNS_SQL, openRequestsSql } from "./request-rows.ts";
import {
  mayBeRefused,
  REFUSED_STATUS_SQL,
  ROW_END_SQL,
  statusOfEndSql,
} from "./request-status-sql.ts";
import type { ReportFilter, ReportGroupBy, ReportRank } from "./usage-reports.ts";

export const FIVE_MINUTES_MS = 300_000;

export const HOUR_MS = 3_600_000;

export const DAY_MS = 24 * HOUR_MS;

/** How a report is read: by which spans of time, and what of it from sums. */
export interface ReportPlan {
  readonly filter: ReportFilter;
  readonly by: ReportGroupBy;
  readonly rank: ReportRank;
  readonly bucketMs: number;
  /** Requests of these whole days are read from sums where there are any; empty: of no day. */
  readonly wholeFromMs: number;
  readonly wholeToMs: number;
  /** Days whose sums hold, `YYYY-MM-DD`. */
  readonly rolledDays: readonly string[];
  /** Requests of the whole days that are in no sum, or not wholly. */
  readonly unrolledRequestIds: readonly string[];
}

/**
 * One statement for the whole report: rows of kind `total`, `group`, `bucket` and `part`. Whole
 * requests come from the journal and from sums, each exactly once, and are the same from then on.
 */
export function reportQuery(plan: ReportPlan): ReportQuery {
  const values: unknown[] = [];
  const $ = (value: unknown): string => `$${values.push(value)}`;
  const org = $(plan.filter.orgId);
  const parts = [
    fromJournalSql(plan, $),
    ...(mayBeRefused(plan.filter) ? [refusedSql(plan, org, $), countedSql(plan, org, $)] : []),
    ...(hasSums(plan) ? [fromSumsSql(plan, org, $)] : []),
  ];
  const text = `
  with own_key as materialized (
    select key_id, case when ${MANAGED_SQL} then origin else key_id end as key_group,
      case when ${MANAGED_SQL} then origin end as managed
    from api_key where org_id = ${org}
  ), request as materialized (
    select request_id, key_id, model_id, provider_id, ${ROW_END_SQL} as ended,
      first_byte_span(first_byte_ms) as span, ${TOKENS_AND_DEBIT.map(
        (column) => `coalesce(${column}, 0) as ${column}`,
      ).join(", ")}
    from (${requestsSql(plan, org, $)}) requests
  ), one as (${parts.join(`
    union all`)}
  ), fact as materialized (
    select bucket, coalesce(${groupSql(plan)}, 'none') as name, span, sum(requests) as requests,
      ${STATUS_COUNTS.map((each) => `sum(requests) filter (where status = '${each}') as ${each}`)
        .join(`,
      `)}, ${TOKENS_AND_DEBIT.map((column) => `sum(${column}) as ${column}`).join(", ")}
    from one left join own_key k on k.key_id = one.key_id
    where ${filterSql(plan.filter, $)}
    group by 1, 2, 3
  ), first_byte as materialized (${firstBytesSql(plan, org, $)}
  )${answerSql(rankSql(plan.rank))}`;
  return { text, values };
}

export function hasSums({ wholeFromMs, wholeToMs, rolledDays }: SummedPart): boolean {
  return wholeFromMs < wholeToMs && rolledDays.length > 0;
}

const STATUS_COUNTS = Object.keys(REQUEST_STATUSES) as RequestStatus[];

/** Which part of a span of requests is read from sums. */
export type SummedPart = Pick<
  ReportPlan,
  "wholeFromMs" | "wholeToMs" | "rolledDays" | "unrolledRequestIds"
>;

function requestsSql(plan: ReportPlan, org: string, $: Bind): string {
  const { fromMs, toMs } = plan.filter;
  const span = { from: requestIdFrom(fromMs), end: requestIdFrom(toMs) };
  const open = `select request_id from hold where org_id = ${org} and not annulled`;
  return unsummedSpans({ ...plan, span }, { org, $ }).flatMap((where) => [
    `select ${ENDED_COLUMNS_SQL} from attempt where final and ${where}
        and request_id not in (${open})`,
    openRequestsSql(`not annulled and ${where}`),
  ]).join(`
      union all
      `);
}

/** Where the journal has what is read from it: each request with all of its attempts, or not at all. */
export function unsummedSpans(
  of: SummedPart & { readonly span: { readonly from: string; readonly end: string } },
  { org, $ }: { readonly org: string; readonly $: Bind },
): readonly string[] {
  const { span, wholeFromMs, wholeToMs, rolledDays, unrolledRequestIds } = of;
  const between = (first: string, end: string): string =>
    `(request_id >= ${$(first)}::uuid
        and request_id < ${$(end)}::uuid)`;
  const isOf = `org_id = ${org} and`;
  if (!hasSums(of)) return [`${isOf} ${between(span.from, span.end)}`];
  const [wholeFrom, wholeEnd] = [requestIdFrom(wholeFromMs), requestIdFrom(wholeToMs)];
  const apart = $(unrolledRequestIds);
  return [
    `${isOf} (${between(span.from, wholeFrom)} or ${between(wholeEnd, span.end)}
        or request_id = any (${apart}::uuid[]))`,
    `${isOf} ${between(wholeFrom, wholeEnd)} and ${attemptsOutsideSql(rolledDays)}
        and request_id <> all (${apart}::uuid[])`,
  ];
}

function fromJournalSql(plan: ReportPlan, $: Bind): string {
  return `
    select key_id, model_id, provider_id, ${statusOfEndSql("ended")} as status,
      ${bucketSql(plan, $)} as bucket, span,
      1::bigint as requests, ${TOKENS_AND_DEBIT.join(", ")}
    from request`;
}

/** The number of a request's hour or day since 1970. */
function bucketSql({ filter, bucketMs }: ReportPlan, $: Bind): string {
  const first = Math.floor(filter.fromMs / bucketMs);
  const count = Math.max(1, Math.ceil(filter.toMs / bucketMs) - first);
  if (count > REPORT_DAYS_MAX) return `request_ms(request_id) / ${bucketMs}`;
  // The position of an id among the first ids of all buckets is found faster than it is decoded.
  const bounds = Array.from({ length: count }, (_, at) => requestIdFrom((first + at) * bucketMs));
  return `width_bucket(request_id, ${$(bounds)}::uuid[]) + ${first - 1}::bigint`;
}

/* One that has attempts after all (the answer about its hold was lost) is what they make of it. */
function refusedSql(plan: ReportPlan, org: string, $: Bind): string {
  const { filter, by } = plan;
  const model = by === "model" || filter.modelIds !== undefined ? "model_id" : "null";
  return `
    select key_id, ${model}, null, ${REFUSED_STATUS_SQL}, ${bucketSql(plan, $)}, null,
      1, 0, 0, 0, 0, 0, 0
    from refused_request r
    where org_id = ${org} and request_id >= ${$(requestIdFrom(filter.fromMs))}::uuid
      and request_id < ${$(requestIdFrom(filter.toMs))}::uuid
      and not exists (select from request q where q.request_id = r.request_id)`;
}

/* Those without a row of their own: of no model, and of the instant at which their minute began. */
function countedSql({ filter, bucketMs }: ReportPlan, org: string, $: Bind): string {
  return `
    select key_id, null, null, 'rejected_by_gateway',
      floor(extract(epoch from minute) * 1000 / ${bucketMs})::bigint, null, unlisted,
      0, 0, 0, 0, 0, 0
    from refused_minute
    where org_id = ${org} and minute >= ${$(new Date(filter.fromMs))}
      and minute < ${$(new Date(filter.toMs))} and unlisted > 0`;
}

const SUM_DAY_BUCKET = "(request_day - date '1970-01-01')::bigint";

function fromSumsSql(plan: ReportPlan, org: string, $: Bind): string {
  return `
    select key_id, model_id, provider_id, ${statusOfEndSql("status")}, ${SUM_DAY_BUCKET}, null,
      requests,
      ${TOKENS_AND_DEBIT.join(", ")}
    from usage_sum where ${sumsWhereSql(plan, org, $)}`;
}

export function sumsWhereSql(
  { wholeFromMs, wholeToMs, rolledDays }: SummedPart,
  org: string,
  $: Bind,
): string {
  return `org_id = ${org} and day = any (${$(rolledDays)}::date[])
      and request_day >= ${$(isoDay(wholeFromMs))}::date
      and request_day < ${$(isoDay(wholeToMs))}::date`;
}

/** First bytes separate from the figures: a sum has many spans. */
function firstBytesSql(plan: ReportPlan, org: string, $: Bind): string {
  const fromFacts = `
    select bucket, name, span, requests from fact where span is not null`;
  if (!hasSums(plan)) return fromFacts;
  return `${fromFacts}
    union all
    select bucket, coalesce(${groupSql(plan)}, 'none'), f.span, sum(f.requests)
    from (
      select key_id, model_id, provider_id, ${statusOfEndSql("status")} as status,
        first_byte_spans, first_byte_counts, ${SUM_DAY_BUCKET} as bucket
      from usage_sum where ${sumsWhereSql(plan, org, $)}
    ) one left join own_key k on k.key_id = one.key_id
      cross join lateral unnest(first_byte_spans, first_byte_counts) as f(span, requests)
    where ${filterSql(plan.filter, $)}
    group by 1, 2, 3`;
}

function groupSql({ by, bucketMs }: ReportPlan): string {
  switch (by) {
    case "model":
      return "one.model_id";
    case "provider":
      return "one.provider_id";
    case "status":
      return "one.status";
    case "key":
      return "coalesce(k.key_group, one.key_id)";
    case "day":
      // The day's number: it is written as a date once, at the end.
      return `(bucket / ${DAY_MS / bucketMs})::text`;
    default:
      return unreachable(by);
  }
}

/** Also guards the marketplace's own keys: none of them can be requested by its id. */
function filterSql(filter: ReportFilter, $: Bind): string {
  const { modelIds, providerIds, keyIds, managed, statuses } = filter;
  const anyOf = (column: string, values: readonly string[] | undefined): readonly string[] =>
    values === undefined ? [] : [`${column} = any (${$(values)}::text[])`];
  const keys = [
    ...anyOf("one.key_id", keyIds).map((each) => `${each} and k.managed is null`),
    ...anyOf("k.managed", managed),
  ];
  return [
    "true",
    ...anyOf("one.model_id", modelIds),
    ...anyOf("one.provider_id", providerIds),
    ...(keys.length === 0 ? [] : [`(${keys.join(" or ")})`]),
    ...anyOf("one.status", statuses),
  ].join(" and ");
}

const figuresSql = ["requests", ...STATUS_COUNTS, ...TOKENS_AND_DEBIT]
  .map((column) => `coalesce(sum(${column}), 0) as ${column}`)
  .join(", ");
const NO_FIGURES_SQL = Array(1 + STATUS_COUNTS.length + TOKENS_AND_DEBIT.length)
  .fill("0")
  .join(", ");

/** The spans that the half, and that 19 of 20 requests are not above. */
function percentilesSql(by: string): string {
  return `(
    select ${by}, min(span) filter (where 2 * upto >= of_all) as p50,
      min(span) filter (where 20 * upto >= 19 * of_all) as p95
    from (
      select ${by}, span, sum(sum(requests)) over (partition by ${by} order by span) as upto,
        sum(sum(requests)) over (partition by ${by}) as of_all
      from named_first_byte group by ${by}, span
    ) spans group by ${by}
  )`;
}

const NAMES_SQL = `case when rank < ${REPORT_GROUPS_MAX} or names <= ${REPORT_GROUPS_MAX}
        then name else 'other' end as listed,
      case when rank <= ${REPORT_SERIES_GROUPS_MAX} then name else 'other' end as part`;

/** The columns that the largest groups have most of, together. */
const RANK_COLUMNS: Readonly<Record<ReportRank, readonly string[]>> = {
  spend: ["debit"],
  requests: ["requests"],
  tokens: TOKENS,
  failed: ["failed"],
  rejected: ["rejected_by_gateway", "rejected_by_provider"],
};

function rankSql(rank: ReportRank): string {
  return RANK_COLUMNS[rank].map((column) => `coalesce(sum(${column}), 0)`).join(" + ");
}

const answerSql = (rank: string): string => `, ranked as materialized (
    select name,
      row_number() over (order by ${rank} desc, sum(debit) desc, sum(requests) desc, name) as rank,
      count(*) over () as names
    from fact group by name
  ), named as materialized (
    select fact.*, ${NAMES_SQL} from fact join ranked using (name)
  ), named_first_byte as materialized (
    select bucket, span, requests, 1 as whole, ${NAMES_SQL}
    from first_byte join ranked using (name)
  )
  select 'total' as kind, '' as name, 0 as bucket, t.*, p.p50, p.p95
  from (select ${figuresSql} from named) t
  left join ${percentilesSql("whole")} p on true
  union all
  select 'group', g.*, p.p50, p.p95
  from (select listed, 0, ${figuresSql} from named group by listed) g
  left join ${percentilesSql("listed")} p on p.listed = g.listed
  union all
  select 'part', part, bucket, ${figuresSql}, null, null from named group by part, bucket
  union all
  select 'bucket', '', bucket, ${NO_FIGURES_SQL}, p50, p95 from ${percentilesSql("bucket")} p`;

export function isoDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
