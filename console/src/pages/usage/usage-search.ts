import type { QueryOf } from "../../api/contract.ts";
import {
  REQUEST_STATUSES,
  type RequestStatus,
} from "../../../../src/kernel/core/request-status.ts";
import type { ChangeHow } from "../../app/use-filters.ts";
import type { Unit } from "../../ui/charts/measure.ts";

/** The query parameters of the usage page. */
export type UsageSearch = Readonly<
  Partial<
    Record<
      FilterName | "range" | "from" | "to" | "by" | "metric" | "cursor" | "rows" | "sort",
      string | undefined
    >
  >
>;

/** Changes query parameters of the URL; undefined removes one. The Back button undoes it. */
export type ChangeSearch = (change: Partial<UsageSearch>, how?: ChangeHow) => void;

export interface SearchProps {
  readonly search: UsageSearch;
  readonly change: ChangeSearch;
}

export type Range = "1h" | "24h" | "7d" | "30d" | "90d" | "month" | "custom";
export type Metric = "spend" | "requests" | "tokens" | "errors" | "rejected" | "ttft";
export type GroupBy = NonNullable<QueryOf<"GET /api/console/usage">["group_by"]>;

interface MetricFacts {
  readonly label: string;
  /** Name of a bar that has no groups. Default: the label. */
  readonly whole?: string;
  readonly unit: Unit;
  /**
   * The metric by which the server selects the largest groups. Times have no sum, so for them the
   * number of requests decides.
   */
  readonly rank: NonNullable<QueryOf<"GET /api/console/usage">["rank_by"]>;
}

export const METRIC_FACTS: Readonly<Record<Metric, MetricFacts>> = {
  spend: { label: "Spend", unit: "usd", rank: "spend" },
  requests: { label: "Requests", unit: "count", rank: "requests" },
  tokens: { label: "Tokens", unit: "count", rank: "tokens" },
  errors: { label: "Failed", whole: "Failed requests", unit: "count", rank: "failed" },
  rejected: { label: "Rejected", whole: "Rejected requests", unit: "count", rank: "rejected" },
  ttft: { label: "Time to first token", unit: "ms", rank: "requests" },
};

type Option<V> = readonly { readonly value: V; readonly label: string }[];

export const RANGES: Option<Range> = [
  { value: "1h", label: "1 hour" },
  { value: "24h", label: "24 hours" },
  { value: "7d", label: "7 days" },
  { value: "30d", label: "30 days" },
  { value: "90d", label: "90 days" },
  { value: "month", label: "This month" },
  { value: "custom", label: "Custom" },
];
export const METRICS: Option<Metric> = (Object.keys(METRIC_FACTS) as Metric[]).map((value) => ({
  value,
  label: METRIC_FACTS[value].label,
}));
export const GROUPS: Option<GroupBy> = [
  { value: "model", label: "Model" },
  { value: "key", label: "Key" },
  { value: "provider", label: "Provider" },
  { value: "day", label: "Day" },
  { value: "status", label: "Status" },
];
export const STATUSES: Option<RequestStatus> = (
  Object.keys(REQUEST_STATUSES) as RequestStatus[]
).map((value) => ({ value, label: REQUEST_STATUSES[value].label }));

/** Names of statuses in older links, which must keep working. */
const OLD_STATUSES: Readonly<Record<string, RequestStatus>> = {
  ok: "succeeded",
  refused: "rejected_by_gateway",
};

/** The time range that the page's URL names. Default: the last 24 hours. */
export function readRange({ range }: UsageSearch): Range {
  return RANGES.find(({ value }) => value === range)?.value ?? "24h";
}

export const FILTER_NAMES = ["model", "key", "tag", "provider", "status"] as const;
export type FilterName = (typeof FILTER_NAMES)[number];
/** Maximum number of values of one filter: the server's maximum, which a test checks. */
export const FILTER_VALUES_MAX = 20;

/** Reads the values of a filter, at most 20, without duplicates and unknown statuses. */
export function readValues(search: UsageSearch, name: FilterName): readonly string[] {
  const values = (search[name] ?? "").split(",").filter((value) => value !== "");
  const known = name === "status" ? values.flatMap(parseStatus) : values;
  return [...new Set(known)].slice(0, FILTER_VALUES_MAX);
}

function parseStatus(value: string): readonly RequestStatus[] {
  const wanted = Object.hasOwn(OLD_STATUSES, value) ? OLD_STATUSES[value] : value;
  return STATUSES.flatMap((status) => (status.value === wanted ? [status.value] : []));
}

export function writeValues(values: readonly string[]): string | undefined {
  return values.length === 0 ? undefined : values.join();
}

/** Returns the option with this value, or the first option if the URL has an unknown value. */
export function chosen<V extends string>(options: Option<V>, value: string | undefined): V {
  return (options.find((option) => option.value === value) ?? options[0])?.value as V;
}

export type Filters = Partial<
  Record<"from" | "to" | FilterName, NonNullable<QueryOf<"GET /api/console/usage">["model"]>>
>;

/** Reads the filters. They apply to the figures, to the request log and to its download. */
export function readFilters(search: UsageSearch, nowMs: number): Filters {
  const filters = { ...readSpan(search, nowMs) };
  for (const name of FILTER_NAMES) {
    const values = writeValues(readValues(search, name));
    if (values !== undefined) filters[name] = values;
  }
  return filters;
}

/** Identifies what the filters select. Unlike a range's bounds, it does not change with time. */
export function nameSelection(search: UsageSearch): string {
  const names = ["range", "from", "to", ...FILTER_NAMES] as const;
  return JSON.stringify(names.map((name) => search[name]));
}

/**
 * A range of days has whole UTC days, up to today. No bounds are sent for the last 24 hours, and no
 * end for the last hour: the server sets these by its clock.
 */
function readSpan(search: UsageSearch, nowMs: number): Filters {
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const range = readRange(search);
  // Rounded down to the minute, so that rendering again does not cause another query.
  if (range === "1h")
    return { from: new Date(nowMs - (nowMs % MINUTE_MS) - HOUR_MS).toISOString() };
  if (range === "7d") return span(today - 6 * DAY_MS, today + DAY_MS);
  if (range === "30d") return span(today - 29 * DAY_MS, today + DAY_MS);
  if (range === "90d") return span(today - 89 * DAY_MS, today + DAY_MS);
  if (range === "month") return span(monthStart(nowMs), today + DAY_MS);
  if (range === "custom" && customFault(search) === undefined) {
    return span(readMinute(search.from) ?? 0, readMinute(search.to) ?? 0);
  }
  return {};
}
export const DAY_MS = 86_400_000;
export const HOUR_MS = 3_600_000;
export const MINUTE_MS = 60_000;

function span(fromMs: number, toMs: number): Required<Pick<Filters, "from" | "to">> {
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() };
}

function monthStart(nowMs: number, monthsBefore = 0): number {
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - monthsBefore, 1);
}

/**
 * The time range before the shown one. If the shown range is still running, the earlier range is
 * cut to the time that has elapsed. Undefined if the shown range begins in the future.
 */
export function spanBefore(
  search: UsageSearch,
  shown: { readonly from: string; readonly to: string },
  nowMs: number,
): Required<Pick<Filters, "from" | "to">> | undefined {
  const [fromMs, toMs] = [Date.parse(shown.from), Date.parse(shown.to)];
  const goneMs = Math.min(toMs, Math.max(nowMs, fromMs)) - fromMs;
  if (goneMs === 0) return undefined;
  const isMonth = readRange(search) === "month";
  const beforeMs = isMonth ? monthStart(fromMs, 1) : fromMs - (toMs - fromMs);
  return span(beforeMs, Math.min(beforeMs + goneMs, fromMs));
}

export function nameBefore(search: UsageSearch): string {
  const range = readRange(search);
  if (range === "month") return "at this point of last month";
  if (range === "custom") return "in the same length of time before";
  if (range === "1h") return "in the hour before";
  return `in the ${RANGES.find(({ value }) => value === range)?.label ?? ""} before`;
}

export function customFault(search: UsageSearch): string | undefined {
  const fromMs = readMinute(search.from);
  const toMs = readMinute(search.to);
  if (fromMs === undefined || toMs === undefined) return "Choose a start and an end.";
  if (fromMs >= toMs) return "The end must be after the start.";
  return toMs - fromMs > DAYS_MAX * DAY_MS ? `Choose ${DAYS_MAX} days at most.` : undefined;
}
/** Maximum number of days in a range. It equals the server's maximum. */
const DAYS_MAX = 366;

/** Parses a date-and-time field, such as `"2026-11-22T14:00"`, as UTC. */
export function readMinute(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(text)) return undefined;
  const ms = Date.parse(`${text}:00Z`);
  return Number.isNaN(ms) ? undefined : ms;
}
