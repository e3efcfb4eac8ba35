import type { ReactElement } from "react";

import { lengthOf } from "./measure.ts";
import { colourOf, type Paint } from "./part-paint.ts";
import type { ChartPart, Stack } from "./stack-parts.ts";
import styles from "./charts.module.css";

export interface LinesProps {
  readonly parts: readonly ChartPart[];
  readonly stacks: readonly Stack[];
  readonly paints: readonly Paint[];
  /** The highest amount of the scale. */
  readonly top: bigint;
}

/** A line a part, broken where nothing was measured: no traffic is not zero milliseconds. */
export function Lines({ parts, stacks, paints, top }: LinesProps): ReactElement {
  return (
    <svg width="100%" height="100%" viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden>
      {parts.map(({ id }, at) => (
        <path
          key={id}
          d={pathOf(stacks, id, top)}
          className={at === 0 ? styles.line : `${styles.line} ${styles.lineDashed}`}
          stroke={colourOf(paints[at] ?? { colour: "own", mark: 0 })}
        />
      ))}
    </svg>
  );
}

/** A single point between gaps is a short line, or it would not be seen. */
function pathOf(stacks: readonly Stack[], id: string, top: bigint): string {
  let isDown = false;
  return stacks
    .map(({ bucket, pieces }, index) => {
      const piece = pieces.find(({ part }) => part.id === id);
      if (bucket.values[id] === null) {
        isDown = false;
        return "";
      }
      const x = (index + 0.5) / stacks.length;
      const y = 1 - lengthOf(piece?.whole ?? 0n, top);
      const step = isDown ? `L${x} ${y}` : `M${x - 0.2 / stacks.length} ${y}L${x} ${y}`;
      isDown = true;
      return step;
    })
    .join("");
}
