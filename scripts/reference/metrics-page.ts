import type { MetricLabel } from "../../src/kernel/metrics/metric-row.ts";
import { METRICS } from "../../src/kernel/metrics/metrics-table.ts";
import { code, page, table } from "./markdown.ts";

/** docs/reference/metrics.md, from the one table of metrics. */
export function metricsPage(): string {
  const rows = Object.entries(METRICS).map(([name, row]) => [
    code(name),
    row.type,
    (row.labels ?? []).map(({ name: label }) => code(label)).join(", "),
    row.unit ?? "",
    row.mayBeEmpty === true ? "may be" : "",
    row.help,
  ]);
  const buckets = Object.entries(METRICS).flatMap(([name, row]) =>
    row.buckets === undefined ? [] : [[code(name), row.buckets.join(", ")]],
  );
  return page(
    "Metrics",
    "Source: `src/kernel/metrics/metrics-table.ts`. How to scrape them: [metrics](../operating/metrics.md). " +
      "*Empty*: an instance that works well may show no series of it. Besides these there are the figures of " +
      "the process and its event loop, `process_*` and `nodejs_*`.",
    table(["Name", "Type", "Labels", "Unit", "Empty", "Meaning"], rows),
    "## Labels",
    table(["Label", "Values", "Of"], labelRows()),
    "## Buckets",
    "Upper bounds; each histogram also has `+Inf`.",
    table(["Name", "Buckets"], buckets),
  );
}

function labelRows(): string[][] {
  const metricsOf = new Map<string, { label: MetricLabel; metrics: string[] }>();
  for (const [name, { labels = [] }] of Object.entries(METRICS)) {
    for (const label of labels) {
      const key = `${label.name} ${valuesOf(label)}`;
      const known = metricsOf.get(key) ?? { label, metrics: [] };
      known.metrics.push(name);
      metricsOf.set(key, known);
    }
  }
  return [...metricsOf.values()].map(({ label, metrics }) => [
    code(label.name),
    valuesOf(label),
    metrics.length > 3 ? `${metrics.length} metrics` : metrics.map(code).join(", "),
  ]);
}

function valuesOf({ values, of = "" }: MetricLabel): string {
  return values === undefined ? of : values.map(code).join(", ");
}
