import { Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useMemo, useState, type ReactElement } from "react";

import type { Overview } from "../../../../src/account/console-api/contract.ts";
import type { ChartBucket, ChartPart } from "../../ui/charts/stack-parts.ts";
import { StackedBars } from "../../ui/charts/stacked-bars.tsx";
import { FilterChips } from "../../ui/filter-chips.tsx";
import { Panel } from "../../ui/panel.tsx";
import { showUtc } from "../../ui/time.tsx";
import { dayRange } from "../usage/day-range.ts";

type Day = Overview["days"][number];
type Metric = "spend" | "requests" | "errors";

export interface DaysPanelProps {
  readonly days: readonly Day[];
  readonly models: Overview["day_models"];
}

export function DaysPanel({ days, models }: DaysPanelProps): ReactElement {
  const navigate = useNavigate();
  const [metric, setMetric] = useState<Metric>("spend");
  const buckets = useMemo(() => days.map((day) => toBucket(day, metric)), [days, metric]);
  const parts = useMemo(
    () => (metric === "spend" ? spendParts(days, models) : COUNTED[metric]),
    [days, models, metric],
  );
  const isEmpty = days.every(({ requests }) => requests === 0);
  return (
    <Panel
      title="Last 30 days"
      actions={<FilterChips label="Figure" options={METRICS} value={metric} onChange={setMetric} />}
    >
      <StackedBars
        label={LABELS[metric]}
        unit={metric === "spend" ? "usd" : "count"}
        parts={parts}
        buckets={buckets}
        bucketLabel="Day (UTC)"
        onPick={({ id }) => {
          void navigate({ to: "/usage", search: { ...dayRange(id), metric } });
        }}
      />
      <Text size="xs" c="dimmed" mt="xs">
        {isEmpty ? null : "Choose a bar to see its day in Usage."}
      </Text>
    </Panel>
  );
}

function toBucket(day: Day, metric: Metric): ChartBucket {
  const label = showUtc(`${day.day}T00:00:00.000Z`, "day");
  return {
    id: day.day,
    label,
    tick: label.split(" ").slice(0, 2).join(" "),
    values: {
      spend: day.spent_by_model,
      requests: { requests: day.requests },
      errors: { errors: day.by_status.failed },
    }[metric],
  };
}

/**
 * The parts of a bar from the bottom up: first the models by spend, then one part for all others if
 * any day has spend on them.
 */
function spendParts(days: readonly Day[], models: DaysPanelProps["models"]): readonly ChartPart[] {
  const isRest = days.some(({ spent_by_model }) => Object.hasOwn(spent_by_model, OTHER));
  return [
    ...models.map(({ model, name }) => ({ id: model, name })),
    ...(isRest ? [{ id: OTHER, name: "All others" }] : []),
  ];
}
const OTHER = "other";

const LABELS: Readonly<Record<Metric, string>> = {
  spend: "Spend by model, per day",
  requests: "Requests by day",
  errors: "Failed requests by day",
};
const METRICS = [
  { value: "spend", label: "Spend" },
  { value: "requests", label: "Requests" },
  { value: "errors", label: "Failed" },
] as const;
const COUNTED = {
  requests: [{ id: "requests", name: "Requests", isWhole: true }],
  errors: [{ id: "errors", name: "Failed", isWhole: true }],
} as const;
