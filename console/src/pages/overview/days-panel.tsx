import { useMemo, useState, type ReactElement } from "react";

import type { Overview } from "../../../../src/console-api/contract.ts";
import type { ChartBucket } from "../../ui/charts/stack-parts.ts";
import { StackedBars } from "../../ui/charts/stacked-bars.tsx";
import { FilterChips } from "../../ui/filter-chips.tsx";
import { Panel } from "../../ui/panel.tsx";
import { showUtc } from "../../ui/time.tsx";

type Day = Overview["days"][number];
type Metric = "spend" | "requests" | "errors";

/** The last 30 days as bars: what was spent, asked, and what failed. */
export function DaysPanel({ days }: { readonly days: readonly Day[] }): ReactElement {
  const [metric, setMetric] = useState<Metric>("spend");
  const buckets = useMemo(() => days.map((day) => bucketOf(day, metric)), [days, metric]);
  return (
    <Panel
      title="Last 30 days"
      actions={<FilterChips label="Figure" options={METRICS} value={metric} onChange={setMetric} />}
    >
      <StackedBars
        label={`${LABELS[metric]} by day`}
        unit={metric === "spend" ? "usd" : "count"}
        parts={PARTS[metric]}
        buckets={buckets}
        bucketLabel="Day (UTC)"
      />
    </Panel>
  );
}

function bucketOf(day: Day, metric: Metric): ChartBucket {
  const label = showUtc(`${day.day}T00:00:00.000Z`, "day");
  const value = { spend: day.spent_usd, requests: day.requests, errors: day.by_status.failed }[
    metric
  ];
  return {
    id: day.day,
    label,
    tick: label.split(" ").slice(0, 2).join(" "),
    values: { [metric]: value },
  };
}

const LABELS: Readonly<Record<Metric, string>> = {
  spend: "Spend",
  requests: "Requests",
  errors: "Failed requests",
};
const METRICS = [
  { value: "spend", label: "Spend" },
  { value: "requests", label: "Requests" },
  { value: "errors", label: "Failed" },
] as const;
const PARTS = {
  spend: [{ id: "spend", name: "Spent", isWhole: true }],
  requests: [{ id: "requests", name: "Requests", isWhole: true }],
  errors: [{ id: "errors", name: "Failed", isWhole: true }],
} as const;
