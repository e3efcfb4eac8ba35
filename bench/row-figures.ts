import type { BenchResults, Figure, ResultRow } from "./results.ts";
import type { TargetId } from "./targets/target.ts";
import type { Work } from "./works.ts";

export interface Cost {
  readonly min: number;
  readonly median: number;
}

/** The figure of a target; of a latency row what it adds over no gateway at all. */
export function costOf(work: Work, row: ResultRow | undefined, id: TargetId): Cost | undefined {
  const figure = usable(row, id);
  if (figure === undefined || work.kind !== "latency") return figure;
  const direct = usable(row, "direct");
  if (direct === undefined) return undefined;
  return { min: figure.min - direct.min, median: figure.median - direct.median };
}

/** The figure that a row is about: that of the gateway, as one process or several. */
export function ownFigure(row: ResultRow): Figure | undefined {
  return usable(row, "gateway") ?? usable(row, "gateway-workers");
}

export function usable(row: ResultRow | undefined, id: TargetId): Figure | undefined {
  const figure = row?.figures.find((one) => one.target === id);
  return figure !== undefined && figure.values.length > 0 ? figure : undefined;
}

/** A candidate and the processes it needs beside itself: the sum of the medians. */
export function togetherOf(figure: Figure | undefined): number | undefined {
  return figure === undefined ? undefined : figure.median + figure.helpersMedian;
}

/** The row whose nginx and floor this one is compared with: its own, unless it names another. */
export function besidesRow(
  results: BenchResults,
  work: Work,
  row: ResultRow,
): ResultRow | undefined {
  if (work.besides === undefined) return row;
  return results.rows.find((one) => one.work === work.besides);
}

export function ratio(over: number | undefined, under: number | undefined): number | undefined {
  return over === undefined || under === undefined || under === 0 ? undefined : over / under;
}
