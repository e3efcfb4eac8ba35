import type { ReactElement } from "react";

import { measureLength } from "./measure.ts";
import { toColour, type Paint } from "./part-paint.ts";
import type { ChartPart, Stack } from "./stack-parts.ts";
import styles from "./charts.module.css";

export interface LinesProps {
  readonly parts: readonly ChartPart[];
  readonly stacks: readonly Stack[];
  readonly paints: readonly Paint[];
  readonly top: bigint;
}

/**
 * Draws one line per part. A line has a gap where nothing was measured: no traffic does not mean
 * zero milliseconds.
 */
export function Lines({ parts, stacks, paints, top }: LinesProps): ReactElement {
  return (
    <svg width="100%" height="100%" viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden>
      {parts.map(({ id }, at) => {
        const stroke = toColour(paints[at] ?? { colour: "own", mark: 0 });
        const { line, dots } = pathsOf(stacks, id, top);
        return (
          <g key={id} stroke={stroke}>
            <path
              d={line}
              className={at === 0 ? styles.line : `${styles.line} ${styles.lineDashed}`}
            />
            <path d={dots} className={styles.dot} />
          </g>
        );
      })}
    </svg>
  );
}

/**
 * Paths of the line of one part. A point between two gaps becomes a dot, because a line through a
 * single point is invisible.
 */
function pathsOf(
  stacks: readonly Stack[],
  id: string,
  top: bigint,
): { readonly line: string; readonly dots: string } {
  const isMeasured = (index: number): boolean =>
    (stacks[index]?.bucket.values[id] ?? null) !== null;
  const points = stacks.map(({ pieces }, index) => {
    const piece = pieces.find(({ part }) => part.id === id);
    const place = `${(index + 0.5) / stacks.length} ${1 - measureLength(piece?.whole ?? 0n, top)}`;
    if (!isMeasured(index)) return { line: "", dot: "" };
    if (isMeasured(index - 1)) return { line: `L${place}`, dot: "" };
    return isMeasured(index + 1)
      ? { line: `M${place}`, dot: "" }
      : { line: "", dot: `M${place}h0` };
  });
  return {
    line: points.map(({ line }) => line).join(""),
    dots: points.map(({ dot }) => dot).join(""),
  };
}
