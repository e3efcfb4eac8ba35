import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { afterAll } from "vitest";
import { parse } from "yaml";

import { type ChartObject, type KubernetesObject, renderChart } from "./render-chart.ts";
import type { Fields } from "./template-functions.ts";

export const CHART = resolve(import.meta.dirname, "../../../deploy/helm/tokenmarket");

/** Ways to install the chart: as it comes, with everything on, and with what can be brought along. */
export const INSTALLATIONS = ["default", "everything", "other-service-account"] as const;
export type Installation = (typeof INSTALLATIONS)[number];

export function valuesOf(installation: Installation): Fields {
  if (installation === "default") return {};
  const file = join(import.meta.dirname, `${installation}.yaml`);
  return parse(readFileSync(file, "utf8")) as Fields;
}

export function objectsOf(installation: Installation, folder = CHART): ChartObject[] {
  const values = valuesOf(installation);
  return renderChart(folder, { name: "prod", namespace: "money", values });
}

export function only(objects: readonly ChartObject[], kind: string): KubernetesObject[] {
  return objects.flatMap(({ value }) => (value.kind === kind ? [value] : []));
}

/** Rules and a dashboard with what is easily broken: braces, quotes, backslashes, letters of all kinds. */
const SAMPLES = {
  "files/prometheus/sample-rules.yml": `# A comment.
groups:
  - name: sample
    interval: 30s
    rules:
      - record: sample:rate5m
        expr: sum by (route) (rate(tm_requests_total{route=~"/v1/.*\\\\.x"}[5m]))
      - alert: Sample
        expr: |
          max(tm_books_last_audit_violations) > 0
        for: 2m
        labels: { severity: page }
        annotations:
          summary: 'On {{ $labels.instance }}: {{ $value | humanize }} "wrong" \u00fc'
`,
  "files/grafana/sample-board.json": `{
  "title": "Sample \u00fc \\" \\\\ {{ route }}",
  "panels": [{ "legendFormat": "{{ route }}" }]
}
`,
};

/** A copy of the chart with a sample of each kind of file that it carries. */
export function withSampleFiles(): string {
  const folder = mkdtempSync(join(tmpdir(), "tokenmarket-chart-"));
  const chart = join(folder, "tokenmarket");
  cpSync(CHART, chart, { recursive: true });
  for (const [file, text] of Object.entries(SAMPLES)) {
    mkdirSync(join(chart, file, ".."), { recursive: true });
    writeFileSync(join(chart, file), text);
  }
  afterAll(() => rmSync(folder, { recursive: true }));
  return chart;
}
