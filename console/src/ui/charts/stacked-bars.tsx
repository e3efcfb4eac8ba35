import { Switch } from "@mantine/core";
import { useId, useMemo, useState, type ReactElement } from "react";

import { BarsPlot } from "./bars-plot.tsx";
import { BarsTable } from "./bars-table.tsx";
import { ChartLegend } from "./chart-legend.tsx";
import type { Unit } from "./measure.ts";
import { stackParts, type ChartBucket, type ChartPart } from "./stack-parts.ts";
import styles from "./charts.module.css";

export interface StackedBarsProps {
  /** What is measured, of what, in which steps: `"Spend by model, per hour"`. */
  readonly label: string;
  readonly unit: Unit;
  /** From the bottom up, eight at most; one alone needs no legend. */
  readonly parts: readonly ChartPart[];
  /** From left to right; dollars are decimal texts. */
  readonly buckets: readonly ChartBucket[];
  /** What the bars have in common, for a column of the table: `"Hour (UTC)"`. */
  readonly bucketLabel?: string;
  readonly heightPx?: number;
  /** Chosen by a click or by Enter. */
  readonly onPick?: (bucket: ChartBucket) => void;
}

/** Bars of parts over time, and the same figures as a table behind a switch. */
export function StackedBars(props: StackedBarsProps): ReactElement {
  const { label, unit, parts, buckets } = props;
  const chartId = useId();
  const [isTable, setTable] = useState(false);
  const stacks = useMemo(() => stackParts(unit, parts, buckets), [unit, parts, buckets]);
  return (
    <figure className={`${styles.chart} ${styles.palette}`} aria-label={label}>
      <div className={styles.bar}>
        <ChartLegend chartId={chartId} parts={parts.length > 1 ? parts : []} />
        <Switch
          size="xs"
          label="Show as table"
          className={styles.asTable}
          checked={isTable}
          onChange={(event) => setTable(event.currentTarget.checked)}
        />
      </div>
      {isTable ? (
        <BarsTable {...{ label, unit, parts, stacks }} bucketLabel={props.bucketLabel ?? "When"} />
      ) : (
        <BarsPlot
          {...{ label, unit, parts, stacks, chartId }}
          heightPx={props.heightPx ?? 220}
          onPick={props.onPick}
        />
      )}
    </figure>
  );
}
