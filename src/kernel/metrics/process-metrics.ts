import { collectDefaultMetrics, Registry } from "prom-client";

import { asText } from "../json/json-edit.ts";
import { headText, labelText, type TextForm } from "./family.ts";

/** Gauges that are left out: linters accept names that end in `_total` for counters only. */
const MISNAMED = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

/** Renders metrics of the process, such as memory, CPU, garbage collection and event loop. */
export function processMetrics(): (form: TextForm) => Promise<string> {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  return async (form) => {
    const metrics = await registry.getMetricsAsJSON();
    return metrics.map((metric) => renderMetric(form, metric)).join("");
  };
}

type ProcessMetric = Awaited<ReturnType<Registry["getMetricsAsJSON"]>>[number];

function renderMetric(form: TextForm, metric: ProcessMetric): string {
  const { name, help } = metric;
  const head = headText(form, { name, help, type: String(metric.type) });
  const lines = metric.values.map((sample) => {
    const labels = Object.entries(sample.labels);
    const names = labels.map(([label]) => label);
    const values = labels.map(([, value]) => String(value));
    const sampleName = asText(Reflect.get(sample, "metricName")) ?? name;
    return `${sampleName}${labelText(names, values)} ${sample.value}\n`;
  });
  return head + lines.join("");
}
