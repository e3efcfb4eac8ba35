import { spanMiddleMs } from "./listing-figures.ts";
import {
  microUsd,
  outputTokensTotal,
  promptTokensTotal,
  REPORT_DAYS_MAX,
  type RequestStatus,
} from "../../kernel/index.ts";
import { usageColumns } from "../../ledger/index.ts";
import { DAY_MS, isoDay } from "./report-parts.ts";
import { type ReportPlan, STATUSES } from "./usage-report-sql.ts";
import type { ReportBucket, ReportFigures, StatusCounts, UsageReport } from "./usage-reports.ts";

export interface ReportRow extends Readonly<Record<RequestStatus, bigint>> {
  readonly kind: "total" | "group" | "part" | "bucket";
  readonly name: string;
  /** Buckets since 1970, of the plan's length. */
  readonly bucket: bigint;
  readonly requests: bigint;
  readonly debit: bigint;
  /** Spans of first bytes, as `first_byte_span` numbers them. */
  readonly p50: number | null;
  readonly p95: number | null;
}

/** The answer's rows as the report they are. */
export function usageReport(plan: ReportPlan, rows: readonly ReportRow[]): UsageReport {
  const total = rows.find((row) => row.kind === "total");
  if (total === undefined) throw new Error("a report answers its totals");
  return {
    totals: readFigures(total),
    bucket: plan.bucket,
    series: buildSeries(plan, rows),
    groups: rows
      .filter((row) => row.kind === "group")
      .toSorted(bySpend)
      .map((row) => ({ group: toGroupName(plan, row), figures: readFigures(row) })),
  };
}

/** Days come as their numbers since 1970. */
function toGroupName({ by }: ReportPlan, { name }: ReportRow): string {
  return by === "day" && name !== "other" ? isoDay(Number(name) * DAY_MS) : name;
}

function bySpend(a: ReportRow, b: ReportRow): number {
  if (a.debit !== b.debit) return a.debit > b.debit ? -1 : 1;
  if (a.requests !== b.requests) return a.requests > b.requests ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}

function readFigures(row: ReportRow): ReportFigures {
  return {
    requests: Number(row.requests),
    byStatus: statusCounts(row),
    debitMicroUsd: microUsd(row.debit),
    usage: usageColumns.read(row),
    firstByteP50Ms: spanMiddleMs(row.p50),
    firstByteP95Ms: spanMiddleMs(row.p95),
  };
}

function statusCounts(row: ReportRow): StatusCounts {
  return Object.fromEntries(STATUSES.map((each) => [each, Number(row[each])])) as StatusCounts;
}

/** Oldest first; empty ones are reported too, since gaps matter. */
function buildSeries(plan: ReportPlan, rows: readonly ReportRow[]): readonly ReportBucket[] {
  const { bucketMs } = plan;
  const buckets = new Map<number, FilledBucket>();
  const at = (row: ReportRow): FilledBucket => {
    const number = Number(row.bucket);
    const known = buckets.get(number) ?? emptyBucket();
    buckets.set(number, known);
    return known;
  };
  for (const row of rows) {
    if (row.kind === "bucket") {
      at(row).firstByteP50Ms = spanMiddleMs(row.p50);
      at(row).firstByteP95Ms = spanMiddleMs(row.p95);
    }
    if (row.kind !== "part") continue;
    const usage = usageColumns.read(row);
    at(row).parts.set(toGroupName(plan, row), {
      requests: Number(row.requests),
      byStatus: statusCounts(row),
      tokens: promptTokensTotal(usage) + outputTokensTotal(usage),
      debitMicroUsd: microUsd(row.debit),
    });
  }
  const { first, last } = findBuckets(plan, [...buckets.keys()]);
  const series: ReportBucket[] = [];
  for (let number = first; number <= last; number++) {
    const filled = buckets.get(number) ?? emptyBucket();
    series.push({ atMs: number * bucketMs, ...filled });
  }
  return series;
}

interface FilledBucket {
  parts: Map<string, ReportBucket["parts"] extends ReadonlyMap<string, infer P> ? P : never>;
  firstByteP50Ms: number | null;
  firstByteP95Ms: number | null;
}

function emptyBucket(): FilledBucket {
  return { parts: new Map(), firstByteP50Ms: null, firstByteP95Ms: null };
}

function findBuckets(
  { filter, bucketMs }: ReportPlan,
  filled: readonly number[],
): { readonly first: number; readonly last: number } {
  const { fromMs, toMs } = filter;
  if (toMs - fromMs <= REPORT_DAYS_MAX * DAY_MS) {
    return { first: Math.floor(fromMs / bucketMs), last: Math.ceil(toMs / bucketMs) - 1 };
  }
  let [first = 0, last = -1] = [filled[0], filled[0]];
  for (const number of filled) [first, last] = [Math.min(first, number), Math.max(last, number)];
  return { first, last };
}
