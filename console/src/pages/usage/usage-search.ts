import type { QueryOf } from "../../../../src/console-api/contract.ts";
import { REQUEST_STATUSES } from "../../../../src/core/request-status.ts";

/** What the usage page keeps in its address. */
export type UsageSearch = Readonly<
  Partial<
    Record<
      | "range"
      | "from"
      | "to"
      | "by"
      | "metric"
      | "model"
      | "key"
      | "provider"
      | "status"
      | "cursor"
      | "rows",
      string | undefined
    >
  >
>;

/** Changes parts of the address; undefined takes a part out. */
export type ChangeSearch = (change: Partial<UsageSearch>) => void;

export type Range = "24h" | "7d" | "30d" | "month" | "custom";
export type Metric = "spend" | "requests" | "tokens" | "errors" | "rejected" | "ttft";
export type GroupBy = NonNullable<QueryOf<"GET /api/console/usage">["group_by"]>;
export type Status = NonNullable<QueryOf<"GET /api/console/usage">["status"]>;

/** What the largest groups have most of; times have no sum, so requests decide. */
export const RANKS: Readonly<
  Record<Metric, NonNullable<QueryOf<"GET /api/console/usage">["rank_by"]>>
> = {
  spend: "spend",
  requests: "requests",
  tokens: "tokens",
  errors: "failed",
  rejected: "rejected",
  ttft: "requests",
};

type Option<V> = readonly { readonly value: V; readonly label: string }[];

export const RANGES: Option<Range> = [
  { value: "24h", label: "24 hours" },
  { value: "7d", label: "7 days" },
  { value: "30d", label: "30 days" },
  { value: "month", label: "This month" },
  { value: "custom", label: "Custom" },
];
export const METRICS: Option<Metric> = [
  { value: "spend", label: "Spend" },
  { value: "requests", label: "Requests" },
  { value: "tokens", label: "Tokens" },
  { value: "errors", label: "Failed" },
  { value: "rejected", label: "Rejected" },
  { value: "ttft", label: "Time to first token" },
];
export const GROUPS: Option<GroupBy> = [
  { value: "model", label: "Model" },
  { value: "key", label: "Key" },
  { value: "provider", label: "Provider" },
  { value: "day", label: "Day" },
  { value: "status", label: "Status" },
];
export const STATUSES: Option<Status> = (Object.keys(REQUEST_STATUSES) as Status[]).map(
  (value) => ({ value, label: REQUEST_STATUSES[value].label }),
);

/** What links of earlier releases call a status. */
const OLD_STATUSES: Readonly<Record<string, Status>> = {
  ok: "succeeded",
  refused: "rejected_by_gateway",
};

/** The status of an address; undefined: it asks for any, or for one that there is not. */
export function statusOf(search: UsageSearch): Status | undefined {
  const { status = "" } = search;
  const wanted = Object.hasOwn(OLD_STATUSES, status) ? OLD_STATUSES[status] : status;
  return STATUSES.find(({ value }) => value === wanted)?.value;
}

/** A known value of the address, or the first option: an edited address breaks nothing. */
export function chosen<V extends string>(options: Option<V>, value: string | undefined): V {
  return (options.find((option) => option.value === value) ?? options[0])?.value as V;
}

export type Filters = Pick<
  QueryOf<"GET /api/console/usage">,
  "from" | "to" | "model" | "provider" | "key" | "status"
>;

/** What the figures, the log and its file are asked with: the same for all three. */
export function filtersOf(search: UsageSearch, nowMs: number): Filters {
  const status = statusOf(search);
  return {
    ...spanOf(search, nowMs),
    ...(search.model === undefined ? {} : { model: search.model }),
    ...(search.provider === undefined ? {} : { provider: search.provider }),
    ...(search.key === undefined ? {} : { key: search.key }),
    ...(status === undefined ? {} : { status }),
  };
}

/**
 * Ranges of days are whole UTC days, today included, as caps and months are. The last 24 hours are
 * left to the server, so that they move on with its clock.
 */
function spanOf(search: UsageSearch, nowMs: number): Pick<Filters, "from" | "to"> {
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const range = chosen(RANGES, search.range);
  if (range === "7d") return span(today - 6 * DAY_MS, today + DAY_MS);
  if (range === "30d") return span(today - 29 * DAY_MS, today + DAY_MS);
  if (range === "month") return span(monthStart(nowMs), today + DAY_MS);
  if (range === "custom" && customFault(search) === undefined) {
    return span(readMinute(search.from) ?? 0, readMinute(search.to) ?? 0);
  }
  return {};
}
export const DAY_MS = 86_400_000;

function span(fromMs: number, toMs: number): Required<Pick<Filters, "from" | "to">> {
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() };
}

function monthStart(nowMs: number): number {
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
}

/** What is wrong with a custom range; undefined where nothing is. */
export function customFault(search: UsageSearch): string | undefined {
  const fromMs = readMinute(search.from);
  const toMs = readMinute(search.to);
  if (fromMs === undefined || toMs === undefined) return "Choose a start and an end.";
  if (fromMs >= toMs) return "The end must be after the start.";
  return toMs - fromMs > DAYS_MAX * DAY_MS ? `Choose ${DAYS_MAX} days at most.` : undefined;
}
/** The longest range that the server reports at once. */
const DAYS_MAX = 366;

/** `"2026-11-22T14:00"` as UTC, the text of a date-and-time field; undefined: it is none. */
export function readMinute(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(text)) return undefined;
  const ms = Date.parse(`${text}:00Z`);
  return Number.isNaN(ms) ? undefined : ms;
}

/** The other way round. */
export function writeMinute(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16);
}

/** The range of one UTC day, `"2026-11-22"`; undefined: it is none. */
export function dayRange(
  day: string,
): Required<Pick<UsageSearch, "range" | "from" | "to">> | undefined {
  const dayMs = Date.parse(`${day}T00:00:00Z`);
  if (Number.isNaN(dayMs)) return undefined;
  return { range: "custom", from: writeMinute(dayMs), to: writeMinute(dayMs + DAY_MS) };
}
