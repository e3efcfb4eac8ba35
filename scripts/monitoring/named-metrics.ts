import type { MetricRow } from "../../src/kernel/metrics/metric-row.ts";
import { METRICS } from "../../src/kernel/metrics/metrics-table.ts";
import { GENAI_RULES, RECORDING_RULES } from "./recording.ts";

type Unit = NonNullable<MetricRow["unit"]> | "bytes" | "count";

interface NamedMetric {
  readonly unit: Unit;
  /** On an instance that works well, a query of this metric may return nothing. */
  readonly mayBeEmpty: boolean;
}

/** Metrics of the Prometheus client library that our queries name. */
const OF_THE_PROCESS: Readonly<Record<string, Unit>> = {
  process_resident_memory_bytes: "bytes",
  process_cpu_seconds_total: "seconds",
  process_start_time_seconds: "seconds",
  process_open_fds: "count",
  nodejs_heap_size_used_bytes: "bytes",
  nodejs_eventloop_lag_p99_seconds: "seconds",
};

const OF_RULES: Readonly<Record<string, Unit>> = Object.fromEntries(
  [...RECORDING_RULES, ...GENAI_RULES].map(({ record }) => [
    record,
    record.includes("_seconds") ? "seconds" : "share",
  ]),
);

/** Returns the metrics that a query names. Throws an error for an unknown name. */
export function namedMetrics(expr: string): ReadonlyMap<string, NamedMetric> {
  const names = expr.replace(/"[^"]*"/g, '""').match(/\b(?:tm|process|nodejs|gen_ai)[_:][\w:]+/g);
  return new Map((names ?? []).map((name) => [name, known(name, expr)]));
}

function known(name: string, expr: string): NamedMetric {
  const [, base] = /^(.+)_(?:bucket|sum|count)$/.exec(name) ?? [];
  const rows: Readonly<Record<string, MetricRow>> = METRICS;
  const row = rows[name];
  if (row !== undefined && row.type !== "histogram") return ofRow(row);
  const histogram = base === undefined ? undefined : rows[base];
  if (histogram?.type === "histogram") return ofRow(histogram);
  const unit = OF_THE_PROCESS[name] ?? OF_RULES[name];
  if (unit !== undefined) return { unit, mayBeEmpty: false };
  throw new Error(`${name} is not in the one table of metrics: ${expr}`);
}

function ofRow({ unit, mayBeEmpty }: MetricRow): NamedMetric {
  return { unit: unit ?? "count", mayBeEmpty: mayBeEmpty === true };
}
