import { findHighest, toWhole, type Amount, type Unit } from "./measure.ts";

export interface ChartPart {
  readonly id: string;
  readonly name: string;
  /** If true, the part gets the color of charts that have only one part. */
  readonly isWhole?: boolean;
}

export interface ChartBucket {
  /** Unique in the chart. */
  readonly id: string;
  /** The time in full, for the focused bar, such as `"22 Nov 2026, 14:00 UTC"`. */
  readonly label: string;
  /** The time in short form, for the labels below the bars, such as `"14:00"`. */
  readonly tick: string;
  /** Amounts by part ID. A part without an entry is 0; null means that nothing was measured. */
  readonly values: Readonly<Record<string, Amount>>;
}

export interface StackPiece {
  readonly part: ChartPart;
  /** Index of the part among all parts, which selects its paint. */
  readonly at: number;
  readonly whole: bigint;
  readonly below: bigint;
}

export interface Stack {
  readonly bucket: ChartBucket;
  /** Pieces of the bar, the bottom one first. Only in a chart of lines can a piece be 0. */
  readonly pieces: readonly StackPiece[];
  readonly total: bigint;
  /** False if any amount was not measured; in a chart of lines, only if none was measured. */
  readonly isMeasured: boolean;
}

export function stackParts(
  unit: Unit,
  parts: readonly ChartPart[],
  buckets: readonly ChartBucket[],
): readonly Stack[] {
  return buckets.map((bucket) => {
    const pieces: StackPiece[] = [];
    let below = 0n;
    for (const [at, part] of parts.entries()) {
      const whole = toWhole(unit, bucket.values[part.id]);
      if (whole > 0n) pieces.push({ part, at, whole, below });
      below += whole;
    }
    const isMeasured = parts.every(({ id }) => bucket.values[id] !== null);
    return { bucket, pieces, total: below, isMeasured };
  });
}

/** Starts every part at zero, for a chart of lines. `total` is the highest part. */
export function sideBySide(
  unit: Unit,
  parts: readonly ChartPart[],
  buckets: readonly ChartBucket[],
): readonly Stack[] {
  return stackParts(unit, parts, buckets).map((stack) => {
    // A null is a gap in the line. A 0 is a point of the line, but stacked bars leave it out.
    const pieces = parts.flatMap((part, at) => {
      const amount = stack.bucket.values[part.id];
      return amount === null ? [] : [{ part, at, whole: toWhole(unit, amount), below: 0n }];
    });
    const total = findHighest(pieces.map(({ whole }) => whole));
    return { ...stack, pieces, total, isMeasured: pieces.length > 0 };
  });
}

/** The positions of at most `most` labels among `count`, evenly spread from the first one on. */
export function tickPlaces(count: number, most: number): readonly number[] {
  const step = Math.max(1, Math.ceil(count / most));
  return Array.from({ length: Math.ceil(count / step) }, (_none, at) => at * step);
}
