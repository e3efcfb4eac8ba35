import type { Usage } from "../../api/contract.ts";
import { toWhole, type Amount } from "../../ui/charts/measure.ts";
import type { ChartBucket, ChartPart } from "../../ui/charts/stack-parts.ts";
import { addUsd } from "../../ui/money-math.ts";
import { showUtc } from "../../ui/time.tsx";
import { countRejected, inAndOut } from "./outcome-labels.ts";
import {
  DAY_MS,
  HOUR_MS,
  METRIC_FACTS,
  STATUSES,
  type GroupBy,
  type Metric,
} from "./usage-search.ts";

type Figures = Usage["series"][number]["parts"][string];

/** The parts are `TIMES`, one part if grouped by day, or else the largest groups and the rest. */
export function chartData(
  usage: Usage,
  metric: Metric,
  by: GroupBy,
): { readonly parts: readonly ChartPart[]; readonly buckets: readonly ChartBucket[] } {
  const isTimes = metric === "ttft";
  const isWhole = by === "day";
  const { label, whole = label } = METRIC_FACTS[metric];
  const parts = isTimes
    ? TIMES
    : isWhole
      ? [{ id: WHOLE, name: whole, isWhole }]
      : rankParts(usage, by, metric);
  const buckets = usage.series.map((step) => ({
    id: step.at,
    label: showUtc(step.at, usage.bucket === "day" ? "day" : "minute"),
    tick: formatTick(step.at, usage.bucket),
    values: isTimes
      ? { p50: step.ttft_p50_ms, p95: step.ttft_p95_ms }
      : isWhole
        ? { [WHOLE]: sumMetric(Object.values(step.parts), metric) }
        : pickValues(step.parts, metric),
  }));
  return { parts, buckets };
}

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

/** Separate lines for p50 and p95: percentiles do not add up. */
const TIMES: readonly ChartPart[] = [
  { id: "p50", name: "p50", isWhole: true },
  { id: "p95", name: "p95" },
];

const WHOLE = "all";
const OTHER = "other";

/** The groups, largest first, then all others. The chart draws the first part at the bottom. */
function rankParts(usage: Usage, by: GroupBy, metric: Metric): readonly ChartPart[] {
  const sums = new Map<string, bigint>();
  for (const { parts } of usage.series) {
    for (const [id, figures] of Object.entries(parts)) {
      const whole = toWhole(METRIC_FACTS[metric].unit, pickAmount(figures, metric));
      sums.set(id, (sums.get(id) ?? 0n) + whole);
    }
  }
  const names = new Map(usage.groups.map((each) => [each.group, each.name]));
  const ranked = [...sums]
    .filter(([id, sum]) => id !== OTHER && sum > 0n)
    .sort(([, a], [, b]) => (a < b ? 1 : a > b ? -1 : 0))
    .map(([id]) => ({ id, name: groupName(by, { group: id, name: names.get(id) ?? id }) }));
  const hasOther = (sums.get(OTHER) ?? 0n) > 0n;
  return [...ranked, ...(hasOther ? [{ id: OTHER, name: "All others" }] : [])];
}

function pickValues(parts: Readonly<Record<string, Figures>>, metric: Metric) {
  return Object.fromEntries(
    Object.entries(parts).map(([id, each]) => [id, pickAmount(each, metric)]),
  );
}

function pickAmount(figures: Figures, metric: Metric): Amount {
  if (metric === "spend") return figures.spent_usd;
  if (metric === "requests") return figures.requests;
  if (metric === "tokens") return figures.tokens;
  return metric === "rejected" ? countRejected(figures) : figures.by_status.failed;
}

function sumMetric(parts: readonly Figures[], metric: Metric): Amount {
  if (metric === "spend") return addUsd(...parts.map(({ spent_usd }) => spent_usd));
  return parts.reduce((sum, each) => sum + Number(pickAmount(each, metric)), 0);
}

function formatTick(at: string, bucket: Usage["bucket"]): string {
  if (bucket !== "day") return at.slice(11, 16);
  return showUtc(at, "day").split(" ").slice(0, 2).join(" ");
}

export function spanOfBucket(
  at: string,
  bucket: Usage["bucket"],
): { fromMs: number; toMs: number } {
  const fromMs = Date.parse(at);
  return { fromMs, toMs: fromMs + BUCKET_MS[bucket] };
}
const BUCKET_MS: Readonly<Record<Usage["bucket"], number>> = {
  five_minutes: HOUR_MS / 12,
  hour: HOUR_MS,
  day: DAY_MS,
};

export function metricOf(figures: Usage["totals"], metric: Metric): Amount {
  if (metric === "ttft") return figures.ttft_p50_ms;
  const { in: tokensIn, out: tokensOut } = inAndOut(figures.tokens);
  return pickAmount({ ...figures, tokens: tokensIn + tokensOut }, metric);
}
