import { Switch } from "@mantine/core";
import { useId, useMemo, useState } from "react";

import { column, figuresColumn } from "../columns.tsx";
import { BarsPlot, type BarsPlotProps } from "./bars-plot.tsx";
import { ChartLegend } from "./part-fill.tsx";
import { hatching } from "../browser-switch.ts";
import { type Unit, showWhole, toWhole } from "./measure.ts";
import { choosePaints } from "./part-paint.ts";
import {
  sideBySide,
  stackParts,
  type ChartBucket,
  type ChartPart,
  type Stack,
} from "./stack-parts.ts";
import styles from "./charts.module.css";
import { DataTable, type Column } from "../data-table.tsx";
import kit from "../kit.module.css";

interface StackedBarsProps {
  /** Names the metric, its groups and the time step, such as `"Spend by model, per hour"`. */
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

/** Parts over time; a switch shows them as a table. If all amounts are 0, shows a note instead. */
export function StackedBars(props: StackedBarsProps) {
  const { label, unit, parts, buckets, heightPx = HEIGHT_PX } = props;
  const chartId = useId();
  const [isHatched] = hatching.use();
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
          // Does not use `checkable`, which the first page would load only for this switch.
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

interface BarsTableProps extends Pick<
  BarsPlotProps,
  "label" | "unit" | "parts" | "stacks" | "isLines"
> {
  readonly bucketLabel: string;
}

function BarsTable(props: BarsTableProps) {
  const { unit, parts, stacks, bucketLabel, isLines } = props;
  const columns = useMemo(
    () => [
      column<Stack>("when", bucketLabel, ({ bucket }) => (
        <span className={kit.figures}>{bucket.label}</span>
      )),
      ...(isLines ? [] : [totalColumn(unit, parts)]),
      ...(parts.length < 2 && !isLines ? [] : parts.map((part) => partColumn(unit, part))),
    ],
    [unit, parts, bucketLabel, isLines],
  );
  return (
    <DataTable
      caption={`${props.label}, as a table`}
      columns={columns}
      rows={stacks}
      rowKey={({ bucket }) => bucket.id}
    />
  );
}

function totalColumn(unit: Unit, parts: readonly ChartPart[]): Column<Stack> {
  return figuresColumn(
    "total",
    parts.length === 1 ? (parts[0]?.name ?? "Total") : "Total",
    ({ total, isMeasured }) => (isMeasured ? showWhole(unit, total) : "–"),
    { sortValue: ({ total }) => total },
  );
}

function partColumn(unit: Unit, part: ChartPart): Column<Stack> {
  function readWhole({ bucket }: Stack): bigint {
    return toWhole(unit, bucket.values[part.id]);
  }
  return figuresColumn(
    `part-${part.id}`,
    part.name,
    (stack) => (stack.bucket.values[part.id] === null ? "–" : showWhole(unit, readWhole(stack))),
    { sortValue: readWhole },
  );
}
