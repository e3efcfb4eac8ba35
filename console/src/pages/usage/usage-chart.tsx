import { Text } from "@mantine/core";
import { useMemo, type ReactElement } from "react";

import type { Usage } from "../../../../src/account/console-api/contract.ts";
import { StackedBars } from "../../ui/charts/stacked-bars.tsx";
import { chartData, spanOfBucket } from "./chart-data.ts";
import { writeMinute } from "./day-range.ts";
import {
  chosen,
  METRICS,
  type ChangeSearch,
  type GroupBy,
  type UsageSearch,
} from "./usage-search.ts";

export interface UsageChartProps {
  readonly usage: Usage;
  readonly by: GroupBy;
  readonly search: UsageSearch;
  readonly change: ChangeSearch;
}

export function UsageChart({ usage, by, search, change }: UsageChartProps): ReactElement {
  const metric = chosen(METRICS, search.metric);
  const data = useMemo(() => chartData(usage, metric, by), [usage, metric, by]);
  const name = METRICS.find(({ value }) => value === metric)?.label ?? "";
  const isTimes = metric === "ttft";
  const isSplit = data.parts.length > 1 && !isTimes;
  return (
    <>
      <StackedBars
        label={`${name}${isSplit ? ` by ${by}` : ""}, per ${BUCKETS[usage.bucket]}`}
        bucketLabel={usage.bucket === "day" ? "Day (UTC)" : "Time"}
        unit={data.unit}
        parts={data.parts}
        buckets={data.buckets}
        shape={isTimes ? "lines" : "bars"}
        onPick={(bucket) => {
          const { fromMs, toMs } = spanOfBucket(bucket.id, usage.bucket);
          change({ range: "custom", from: writeMinute(fromMs), to: writeMinute(toMs) });
        }}
      />
      <Text size="xs" c="dimmed" mt="xs">
        {usage.totals.requests === 0
          ? null
          : `${isTimes ? "Of all requests. " : ""}Choose ${isTimes ? "a point" : "a bar"} to see its ${BUCKETS[usage.bucket]}.`}
      </Text>
    </>
  );
}

const BUCKETS: Readonly<Record<Usage["bucket"], string>> = {
  five_minutes: "five minutes",
  hour: "hour",
  day: "day",
};
