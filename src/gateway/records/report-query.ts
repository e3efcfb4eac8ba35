import type { PoolClient } from "pg";

import {
  columns,
  type ColumnsOf,
  count,
  micro,
  outputTokensTotal,
  promptTokensTotal,
  type RecordOf,
  REPORT_DAYS_MAX,
  REPORT_FINE_HOURS_MAX,
  REPORT_GROUPS_MAX,
  REPORT_HOURS_MAX,
  REPORT_SERIES_GROUPS_MAX,
  REQUEST_STATUSES,
  type RequestStatus,
} from "../../kernel/index.ts";
import { requestIdFrom, usageColumns } from "../../ledger/index.ts";
import {
  type Bind,
  DAY_MS,
  HOUR_MS,
  type ReportQuery,
  TOKENS,
  TOKENS_AND_DEBIT,
  isoDay,
} from "./report-parts.ts";
import {
  attemptedSql,
  END_SQL,
  findSums,
  inSumsSql,
  MANAGED_KEYS_SQL,
  matchSql,
  mayBeRefused,
  REFUSED_COLUMNS_SQL,
  type ReportFilter,
  statusOfEndSql,
  type SummedSpan,
  toRequestSpan,
} from "./request-rows.ts";
import { spanMiddleMs } from "./listing-figures.ts";

export type ReportGroupBy = "model" | "key" | "provider" | "day" | "status";

/** The metric by which the largest groups are chosen. */
export type ReportRank = keyof typeof RANK_SQL;

const STATUSES = Object.keys(REQUEST_STATUSES) as readonly RequestStatus[];

const countProperties = {
  requests: count("requests"),
  byStatus: columns(
    Object.fromEntries(STATUSES.map((each) => [each, count(each)])) as ColumnsOf<
      Record<RequestStatus, number>
    >,
  ),
  debitMicroUsd: micro("debit"),
};
/** A request with several attempts is one request; its cost and tokens are their sum. */
const countColumns = columns(countProperties);
const totalColumns = columns({ ...countProperties, usage: usageColumns });

/** First-byte times of last attempts, read from histogram buckets and so up to 3.2 percent off. */
type FirstByteTimes = ReturnType<typeof readTimes>;

export type ReportFigures = RecordOf<typeof totalColumns> & FirstByteTimes;

export interface ReportBucket extends FirstByteTimes {
  readonly atMs: number;
  readonly parts: ReadonlyMap<string, ReportPart>;
}

type ReportPart = RecordOf<typeof countColumns> & { readonly tokens: number };

export type UsageReport = ReturnType<typeof usageReport>;

interface ReportPlan {
  readonly filter: ReportFilter;
  readonly by: ReportGroupBy;
  readonly rank: ReportRank;
  readonly bucket: keyof typeof BUCKET_MS;
  readonly bucketMs: number;
  /** The requested span. No day is read from sums if buckets are shorter than a day. */
  readonly span: SummedSpan;
}

const BUCKET_MS = { five_minutes: HOUR_MS / 12, hour: HOUR_MS, day: DAY_MS } as const;

export async function readReportRows(
  client: PoolClient,
  filter: ReportFilter,
  groups: Pick<ReportPlan, "by" | "rank">,
) {
  const hours = (filter.toMs - filter.fromMs) / HOUR_MS;
  const isFine = hours <= REPORT_FINE_HOURS_MAX;
  const bucket = hours > REPORT_HOURS_MAX ? "day" : isFine ? "five_minutes" : "hour";
  const of = toRequestSpan(filter);
  const span =
    bucket === "day"
      ? await findSums(client, filter.orgId, of)
      : { ...of, wholeFromMs: 0, wholeToMs: 0, rolledDays: [] };
  const plan = { filter, ...groups, bucket, bucketMs: BUCKET_MS[bucket], span } as const;
  const { rows } = await client.query<ReportRow>(reportQuery(plan));
  return { plan, rows };
}

/**
 * Builds one statement with rows of kind `total`, `group`, `bucket` and `part`. First-byte times
 * are counted separately (`timed`), because a daily sum stores them as a histogram.
 */
function reportQuery(plan: ReportPlan): ReportQuery {
  const { filter, by, bucketMs, span, rank } = plan;
  const values: unknown[] = [filter.orgId];
  const $ = (value: unknown): string => `$${values.push(value)}`;
  const figures = ["requests", "timed", ...TOKENS_AND_DEBIT];
  const shown = ["requests", ...TOKENS_AND_DEBIT, ...STATUSES];
  const group: Readonly<Record<ReportGroupBy, string>> = {
    model: "model_id",
    provider: "provider_id",
    status: "status",
    key: "coalesce(own.origin, key_id)",
    // The number of the day; it is formatted as a date once, at the end.
    day: `(bucket / ${DAY_MS / bucketMs})::text`,
  };
  const others = [
    ...(mayBeRefused(filter) ? [refusedSql(plan, $), unlistedSql(plan, $)] : []),
    ...(span.rolledDays.length === 0 ? [] : [firstBytesSql(span, $)]),
  ];
  const match = matchSql(filter, "status", $);
  const text = `
  with attempted as materialized (${attemptedSql(span, $)}
  ), one as (
    select key_id, model_id, provider_id, ended, span, requests,
      case when span is null then 0 else requests end as timed, ${TOKENS_AND_DEBIT.join(", ")},
      coalesce(request_day - date '1970-01-01', ${bucketSql(plan, $)}) as bucket from attempted
    ${others.map((part) => `union all ${part}`).join("\n    ")}
  ), fact as materialized (
    select bucket, coalesce(${group[by]}, 'none') as name, span,
      ${figures.map((each) => `sum(${each}) as ${each}`).join(", ")},
      ${STATUSES.map((each) => `sum(requests) filter (where status = '${each}') as ${each}`).join(", ")}
    from (select *, ${statusOfEndSql("ended")} as status from one) one
    left join (${MANAGED_KEYS_SQL}) own on managed_id = key_id
    where ${match} group by 1, 2, 3
  ), ranked as materialized (
    select name, row_number() over (order by ${RANK_SQL[rank]} desc, sum(debit) desc,
        sum(requests) desc, name) as rank, count(*) over () as names
    from fact group by name having sum(requests) <> 0
  ), named as materialized (
    select fact.*, '' as whole,
      case when rank < ${REPORT_GROUPS_MAX} or names <= ${REPORT_GROUPS_MAX}
        then name else 'other' end as listed,
      case when rank <= ${REPORT_SERIES_GROUPS_MAX} then name else 'other' end as part
    from fact join ranked using (name)
  )
  select kind, name, bucket, p50, p95,
    ${shown.map((each) => `coalesce(${each}, 0) as ${each}`).join(", ")}
  from (
    select case when grouping(bucket) = 0 then 'part' when grouping(listed) = 0 then 'group'
        else 'total' end as kind, coalesce(part, listed, '') as name, coalesce(bucket, 0) as bucket,
      ${shown.map((each) => `sum(${each}) as ${each}`).join(", ")}
    from named group by grouping sets ((), (listed), (part, bucket))
    having sum(requests) <> 0 or grouping(bucket, listed) = 3
  ) sums full join (
    ${percentilesSql("total", "whole")}
    union all ${percentilesSql("group", "listed")}
    union all ${percentilesSql("bucket", "bucket")}
  ) timed using (kind, name, bucket)
  -- The series needs the order of buckets; the names give the same report the same text.
  order by bucket, name collate "C"`;
  return { text, values };
}

function bucketSql({ filter, bucketMs }: ReportPlan, $: Bind): string {
  const first = Math.floor(filter.fromMs / bucketMs);
  const length = Math.max(1, Math.ceil(filter.toMs / bucketMs) - first);
  if (length > REPORT_DAYS_MAX) return `request_ms(request_id) / ${bucketMs}`;
  // Comparing an id with the first ids of all buckets is faster than decoding its time.
  const bounds = Array.from({ length }, (_, at) => requestIdFrom((first + at) * bucketMs));
  return `width_bucket(request_id, ${$(bounds)}::uuid[]) + ${first - 1}::bigint`;
}

const NO_TOKENS_SQL = TOKENS_AND_DEBIT.map(() => "0").join(", ");

/* If the answer to its hold was lost, a refused request may have attempts; only these count. */
function refusedSql(plan: ReportPlan, $: Bind): string {
  const { from, end, rolledDays } = plan.span;
  return `
    select key_id, model_id, provider_id, ${END_SQL}, null, 1, 0, ${NO_TOKENS_SQL},
      ${bucketSql(plan, $)}
    from (select ${REFUSED_COLUMNS_SQL} from refused_request
      where org_id = $1 and request_id >= ${$(from)}::uuid and request_id < ${$(end)}::uuid) r
    where not exists (select from attempted a where a.request_id = r.request_id)
      and request_id not in (select unnest(also_refused) from usage_rolled
        where org_id = $1 and day = any (${$(rolledDays)}::date[]))`;
}

/* Refused requests counted only by minute. They have no model; their time is the minute's start. */
function unlistedSql({ filter, bucketMs }: ReportPlan, $: Bind): string {
  return `
    select key_id, null, null, 'none/', null, unlisted, 0, ${NO_TOKENS_SQL},
      floor(extract(epoch from minute) * 1000 / ${bucketMs})::bigint
    from refused_minute where org_id = $1 and unlisted > 0
      and minute >= ${$(new Date(filter.fromMs))} and minute < ${$(new Date(filter.toMs))}`;
}

function firstBytesSql(span: SummedSpan, $: Bind): string {
  return `
    select key_id, model_id, provider_id, status, f.span, 0, f.timed, ${NO_TOKENS_SQL},
      request_day - date '1970-01-01'
    from usage_sum cross join lateral unnest(first_byte_spans, first_byte_counts) as f(span, timed)
    where ${inSumsSql(span, $)}`;
}

function percentilesSql(kind: string, by: "whole" | "listed" | "bucket"): string {
  return `
    select '${kind}' as kind, ${by === "bucket" ? "'' as name, bucket" : `${by} as name, 0 as bucket`},
      min(span) filter (where 2 * upto >= of_all) as p50,
      min(span) filter (where 20 * upto >= 19 * of_all) as p95
    from (
      select ${by}, span, sum(sum(timed)) over (partition by ${by} order by span) as upto,
        sum(sum(timed)) over (partition by ${by}) as of_all
      from named group by ${by}, span having sum(timed) > 0
    ) spans group by ${by}`;
}

const sumSql = (names: readonly string[]): string =>
  names.map((column) => `coalesce(sum(${column}), 0)`).join(" + ");

const RANK_SQL = {
  spend: sumSql(["debit"]),
  requests: sumSql(["requests"]),
  tokens: sumSql(TOKENS),
  failed: sumSql(["failed"]),
  rejected: sumSql(["rejected_by_gateway", "rejected_by_provider"]),
};

/** Besides these, a row has the columns of `totalColumns`. */
interface ReportRow {
  readonly kind: "total" | "group" | "part" | "bucket";
  readonly name: string;
  /** The number of whole buckets from 1970 to the start of this one; the plan sets their length. */
  readonly bucket: bigint;
  readonly requests: bigint;
  readonly debit: bigint;
  /** Percentiles of the time to the first byte, as buckets (SQL `first_byte_span`). */
  readonly p50: number | null;
  readonly p95: number | null;
}

export function usageReport(plan: ReportPlan, rows: readonly ReportRow[]) {
  const total = rows.find((row) => row.kind === "total");
  if (total === undefined) throw new Error("a report answers its totals");
  return {
    totals: readFigures(total),
    bucket: plan.bucket,
    /** Buckets, oldest first, including empty ones. Groups beyond the largest seven are `other`. */
    series: buildSeries(plan, rows),
    /**
     * Most spend first, at most 200; if there are more, `other` sums up those ranked last. Managed
     * keys are `playground` and `optimize`. Requests without a value to group by are `none`.
     */
    groups: rows
      .filter((row) => row.kind === "group")
      .toSorted(bySpend)
      .map((row) => ({ group: toGroupName(plan, row), figures: readFigures(row) })),
  };
}

/** A row names a day by its number of days since 1970-01-01; the report names it by its date. */
function toGroupName({ by }: ReportPlan, { name }: ReportRow): string {
  return by === "day" && name !== "other" ? isoDay(Number(name) * DAY_MS) : name;
}

function bySpend(a: ReportRow, b: ReportRow): number {
  if (a.debit !== b.debit) return a.debit > b.debit ? -1 : 1;
  if (a.requests !== b.requests) return a.requests > b.requests ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}

function readFigures(row: ReportRow): ReportFigures {
  return { ...totalColumns.read(row), ...readTimes(row) };
}

function readTimes({ p50, p95 }: Pick<ReportRow, "p50" | "p95">) {
  return { firstByteP50Ms: spanMiddleMs(p50), firstByteP95Ms: spanMiddleMs(p95) };
}

function buildSeries(plan: ReportPlan, rows: readonly ReportRow[]): readonly ReportBucket[] {
  const ofBuckets = rows.filter(({ kind }) => kind === "bucket" || kind === "part");
  const [first, last] = findBuckets(plan, ofBuckets);
  const series = Array.from({ length: last - first + 1 }, (_, at) => ({
    atMs: (first + at) * plan.bucketMs,
    parts: new Map<string, ReportPart>(),
    ...readTimes({ p50: null, p95: null }),
  }));
  for (const row of ofBuckets) {
    const bucket = series[Number(row.bucket) - first];
    if (bucket === undefined) continue;
    if (row.kind === "bucket") Object.assign(bucket, readTimes(row));
    else {
      const usage = usageColumns.read(row);
      const tokens = promptTokensTotal(usage) + outputTokensTotal(usage);
      bucket.parts.set(toGroupName(plan, row), { ...countColumns.read(row), tokens });
    }
  }
  return series;
}

/** The rows are in the order of their buckets. */
function findBuckets(
  { filter: { fromMs, toMs }, bucketMs }: ReportPlan,
  rows: readonly ReportRow[],
): readonly [first: number, last: number] {
  if (toMs - fromMs <= REPORT_DAYS_MAX * DAY_MS) {
    return [Math.floor(fromMs / bucketMs), Math.ceil(toMs / bucketMs) - 1];
  }
  return [Number(rows[0]?.bucket ?? 0), Number(rows.at(-1)?.bucket ?? -1)];
}
