import { Switch } from "@mantine/core";
import { useId, useMemo, useState, type ReactElement } from "react";

import { BarsPlot } from "./bars-plot.tsx";
import { BarsTable } from "./bars-table.tsx";
import { ChartLegend } from "./chart-legend.tsx";
import { useHatching } from "./hatching.ts";
import type { Unit } from "./measure.ts";
import { choosePaints } from "./part-paint.ts";
import { sideBySide, stackParts, type ChartBucket, type ChartPart } from "./stack-parts.ts";
import styles from "./charts.module.css";

export interface StackedBarsProps {
  /** Names the metric, its groups and the step, such as `"Spend by model, per hour"`. */
  readonly label: string;
  readonly unit: Unit;
  /** Parts from the bottom up, at most eight. A single part has no legend. */
  readonly parts: readonly ChartPart[];
  readonly buckets: readonly ChartBucket[];
  readonly bucketLabel?: string;
  readonly heightPx?: number;
  /** Use `lines` for parts that do not add up, such as percentiles of times. */
  readonly shape?: "bars" | "lines";
  /** Called when the reader clicks a bar or presses Enter on it. */
  readonly onPick?: (bucket: ChartBucket) => void;
}

const HEIGHT_PX = 220;

/**
 * Shows parts over time, with the same figures as a table behind a switch. If all figures are 0,
 * shows a note instead.
 */
export function StackedBars(props: StackedBarsProps): ReactElement {
  const { label, unit, parts, buckets, heightPx = HEIGHT_PX } = props;
  const chartId = useId();
  const isHatched = useHatching();
  const [isTable, setTable] = useState(false);
  const isLines = props.shape === "lines";
  const stacks = useMemo(
    () => (isLines ? sideBySide : stackParts)(unit, parts, buckets),
    [unit, parts, buckets, isLines],
  );
  const paints = useMemo(() => choosePaints(parts, isHatched), [parts, isHatched]);
  const isNothing = stacks.every(({ total }) => total === 0n);
  return (
    <figure className={`${styles.chart} ${styles.palette}`} aria-label={label}>
      <div className={styles.bar}>
        <ChartLegend chartId={chartId} parts={parts.length > 1 ? parts : []} paints={paints} />
        <Switch
          size="xs"
          className={styles.asTable}
          label="Show as table"
          checked={isTable}
          onChange={(event) => setTable(event.currentTarget.checked)}
        />
      </div>
      {isTable ? (
        <BarsTable
          {...{ label, unit, parts, stacks, isLines }}
          bucketLabel={props.bucketLabel ?? "When"}
        />
      ) : isNothing ? (
        <div className={styles.nothing} style={{ height: heightPx }}>
          Nothing in this time range yet.
        </div>
      ) : (
        <BarsPlot
          {...{ label, unit, parts, stacks, paints, isLines, chartId, heightPx }}
          onPick={props.onPick}
        />
      )}
    </figure>
  );
}
