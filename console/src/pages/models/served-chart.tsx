import { Group } from "@mantine/core";
import { useMemo, useState } from "react";

import type { ListingFigures } from "../../api/contract.ts";
import { StackedBars } from "../../ui/charts/stacked-bars.tsx";
import { FilterChips } from "../../ui/filter-chips.tsx";
import {
  SERVED_METRICS,
  buildServedSeries,
  type ServedMetric,
  type ServedSpan,
} from "./served-series.ts";

interface ServedChartProps {
  /** Says whose calls the figures count, such as `"Your own calls"` or `"All customers"`. */
  readonly caption: string;
  readonly listings: readonly ListingFigures[];
  /** What each line is of. */
  readonly lineOf: "provider" | "model";
  /** False for the figures of all customers, which the server has only by day. */
  readonly hasHours: boolean;
  readonly nowMs: number;
}

const METRICS = (Object.keys(SERVED_METRICS) as ServedMetric[]).map((value) => ({
  value,
  label: SERVED_METRICS[value].label,
}));
const SPANS: readonly { readonly value: ServedSpan; readonly label: string }[] = [
  { value: "30d", label: "30 days" },
  { value: "24h", label: "24 hours" },
];

export default function ServedChart(props: ServedChartProps) {
  const { caption, listings, lineOf, hasHours, nowMs } = props;
  const [metric, setMetric] = useState<ServedMetric>("p50");
  const [span, setSpan] = useState<ServedSpan>("30d");
  const { parts, buckets } = useMemo(
    () => buildServedSeries(listings, { metric, span, nowMs, lineOf }),
    [listings, metric, span, nowMs, lineOf],
  );
  const { label, unit } = SERVED_METRICS[metric];
  const step = span === "24h" ? "hour" : "day";
  return (
    <div>
      <Group gap="md" mb="xs">
        <FilterChips
          label={`Figure: ${caption.toLowerCase()}`}
          options={METRICS}
          value={metric}
          onChange={setMetric}
        />
        {hasHours ? (
          <FilterChips
            label={`Time: ${caption.toLowerCase()}`}
            options={SPANS}
            value={span}
            onChange={setSpan}
          />
        ) : null}
      </Group>
      <StackedBars
        label={`${label} per ${step}: ${caption.toLowerCase()}`}
        bucketLabel={span === "24h" ? "Hour (UTC)" : "Day (UTC)"}
        unit={unit}
        parts={parts}
        buckets={buckets}
        shape="lines"
        heightPx={160}
      />
    </div>
  );
}
