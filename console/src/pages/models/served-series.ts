import type { FiguresAt, ListingFigures } from "../../api/contract.ts";
import type { Unit } from "../../ui/charts/measure.ts";
import type { ChartBucket } from "../../ui/charts/stack-parts.ts";
import { showUtc } from "../../ui/time.tsx";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Maximum number of lines in one chart: people cannot distinguish more. */
const LINES_MAX = 8;

export type ServedMetric = "p50" | "p95" | "speed" | "success";
export type ServedSpan = "24h" | "30d";

interface MetricOf {
  readonly label: string;
  readonly unit: Unit;
  readonly of: (figures: FiguresAt) => number | null;
}

export const SERVED_METRICS: Readonly<Record<ServedMetric, MetricOf>> = {
  p50: { label: "First token, p50", unit: "ms", of: (at) => at.ttft_p50_ms },
  p95: { label: "First token, p95", unit: "ms", of: (at) => at.ttft_p95_ms },
  speed: {
    label: "Tokens per second",
    unit: "count",
    of: ({ tokens_per_second: speed }) => (speed === null ? null : Math.round(speed)),
  },
  // The share is rounded down, so that it is not shown as 100% if one of many calls failed.
  success: {
    label: "Succeeded",
    unit: "share",
    of: ({ success }) => (success === null ? null : Math.floor(success * 1_000)),
  },
};

/**
 * Builds a line for each of the listings with the most calls. The axis has every one of the last 24
 * hours or 30 days. A time without figures is null, which leaves a gap in the line.
 */
export function buildServedSeries(
  listings: readonly ListingFigures[],
  shown: {
    readonly metric: ServedMetric;
    readonly span: ServedSpan;
    readonly nowMs: number;
    /** The ID is that of charts of spend, so that the colors in both are mostly equal. */
    readonly lineOf: "provider" | "model";
  },
) {
  const { metric, span, nowMs, lineOf } = shown;
  const drawn = listings.toSorted((a, b) => weigh(b) - weigh(a)).slice(0, LINES_MAX);
  const lines = drawn.map((listing) => ({
    part: { id: listing[lineOf], name: listing[lineOf] },
    known: new Map(
      (span === "24h" ? listing.hours : listing.days).map((figures) => [
        Date.parse(figures.at),
        SERVED_METRICS[metric].of(figures),
      ]),
    ),
  }));
  const [stepMs, steps] = span === "24h" ? [HOUR_MS, 24] : [DAY_MS, 30];
  const last = Math.floor(nowMs / stepMs) * stepMs;
  const buckets = Array.from({ length: steps }, (_, at): ChartBucket => {
    const ms = last - (steps - 1 - at) * stepMs;
    const iso = new Date(ms).toISOString();
    return {
      id: iso,
      label: showUtc(iso, span === "24h" ? "minute" : "day"),
      tick: span === "24h" ? iso.slice(11, 16) : showUtc(iso, "day").replace(/ \d{4}$/, ""),
      values: Object.fromEntries(lines.map(({ part, known }) => [part.id, known.get(ms) ?? null])),
    };
  });
  return { parts: lines.map(({ part }) => part), buckets };
}

/** The figures of all customers have no counts, only shares. */
function weigh({ calls, share_of_calls: share }: ListingFigures): number {
  return calls ?? share;
}
