import type { Usage } from "../../../../src/console-api/contract.ts";
import type { Amount, Unit } from "../../ui/charts/measure.ts";
import type { ChartBucket, ChartPart } from "../../ui/charts/stack-parts.ts";
import { addUsd } from "../../ui/money-math.ts";
import { showUtc } from "../../ui/time.tsx";
import { DAY_MS, STATUSES, type GroupBy, type Metric } from "./usage-search.ts";

export interface UsageChartData {
  readonly unit: Unit;
  readonly parts: readonly ChartPart[];
  readonly buckets: readonly ChartBucket[];
}

type Figures = Usage["series"][number]["parts"][string];

/** The bars of one metric. The largest groups are parts of their own, all others are one. */
export function chartData(usage: Usage, metric: Metric, by: GroupBy): UsageChartData {
  const isWhole = metric === "ttft" || by === "day";
  const parts = isWhole ? [{ id: WHOLE, name: WHOLE_NAMES[metric] }] : partsOf(usage, by);
  const buckets = usage.series.map((step) => ({
    id: step.at,
    label: showUtc(step.at, usage.bucket === "hour" ? "minute" : "day"),
    tick: tickOf(step.at, usage.bucket),
    values:
      metric === "ttft"
        ? { [WHOLE]: step.ttft_p50_ms }
        : isWhole
          ? { [WHOLE]: sumOf(Object.values(step.parts), metric) }
          : valuesOf(step.parts, metric),
  }));
  return { unit: unitOf(metric), parts, buckets };
}

/** What people call a group; requests that have no such thing are a group too. */
export function groupName(
  by: GroupBy,
  { group, name }: Pick<Usage["groups"][number], "group" | "name">,
): string {
  if (group === NONE) return NONE_NAMES[by] ?? name;
  if (by !== "status") return name;
  return STATUSES.find(({ value }) => value === group)?.label ?? name;
}
export const NONE = "none";
const NONE_NAMES: Readonly<Partial<Record<GroupBy, string>>> = {
  model: "No known model",
  provider: "No provider",
};

const WHOLE = "all";
const WHOLE_NAMES: Readonly<Record<Metric, string>> = {
  spend: "Spend",
  requests: "Requests",
  tokens: "Tokens",
  errors: "Failed requests",
  rejected: "Rejected requests",
  ttft: "p50 time to first token",
};
/** What a metric is counted in. */
export function unitOf(metric: Metric): Unit {
  return UNITS[metric];
}
const UNITS: Readonly<Record<Metric, Unit>> = {
  spend: "usd",
  requests: "count",
  tokens: "count",
  errors: "count",
  rejected: "count",
  ttft: "ms",
};
const OTHER = "other";

/** In the order of the groups, most spend at the bottom; what is left of them on top. */
function partsOf(usage: Usage, by: GroupBy): readonly ChartPart[] {
  const seen = new Set(usage.series.flatMap(({ parts }) => Object.keys(parts)));
  const named = usage.groups
    .filter(({ group }) => seen.delete(group))
    .map((each) => ({ id: each.group, name: groupName(by, each) }));
  const hasOther = seen.delete(OTHER);
  return [
    ...named,
    ...[...seen].map((id) => ({ id, name: groupName(by, { group: id, name: id }) })),
    ...(hasOther ? [{ id: OTHER, name: "All others" }] : []),
  ];
}

function valuesOf(parts: Readonly<Record<string, Figures>>, metric: Metric) {
  return Object.fromEntries(
    Object.entries(parts).map(([id, each]) => [id, amountOf(each, metric)]),
  );
}

function amountOf(figures: Figures, metric: Metric): Amount {
  if (metric === "spend") return figures.spent_usd;
  if (metric === "requests") return figures.requests;
  if (metric === "tokens") return figures.tokens;
  return metric === "rejected" ? rejectedOf(figures) : figures.by_status.failed;
}

/** Turned away, by the gateway or by a provider: never among what failed. */
export function rejectedOf({ by_status }: Pick<Figures, "by_status">): number {
  return by_status.rejected_by_gateway + by_status.rejected_by_provider;
}

function sumOf(parts: readonly Figures[], metric: Metric): Amount {
  if (metric === "spend") return addUsd(...parts.map(({ spent_usd }) => spent_usd));
  return parts.reduce((sum, each) => sum + Number(amountOf(each, metric)), 0);
}

/** `"14:00"` or `"22 Nov"`. */
function tickOf(at: string, bucket: Usage["bucket"]): string {
  if (bucket === "hour") return at.slice(11, 16);
  return showUtc(at, "day").split(" ").slice(0, 2).join(" ");
}

/** Where a bar begins and ends, in milliseconds, to show its requests. */
export function spanOfBucket(
  at: string,
  bucket: Usage["bucket"],
): { fromMs: number; toMs: number } {
  const fromMs = Date.parse(at);
  return { fromMs, toMs: fromMs + (bucket === "hour" ? HOUR_MS : DAY_MS) };
}
const HOUR_MS = 3_600_000;
