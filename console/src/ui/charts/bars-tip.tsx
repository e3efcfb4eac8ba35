import { Fragment, type ReactElement } from "react";

import { Swatch } from "./chart-legend.tsx";
import { showWhole, type Unit } from "./measure.ts";
import type { Paint } from "./part-paint.ts";
import type { Stack } from "./stack-parts.ts";
import styles from "./charts.module.css";

export interface BarsTipProps {
  readonly unit: Unit;
  readonly stack: Stack;
  readonly paints: readonly Paint[];
  readonly chartId: string;
  readonly place: number;
  /** True for parts that do not add up, such as percentiles. No total is shown then. */
  readonly isLines: boolean;
}

/** Shows the figures of the focused bar. Screen readers get them from `aria-valuetext`. */
export function BarsTip({
  unit,
  stack,
  paints,
  chartId,
  place,
  isLines,
}: BarsTipProps): ReactElement {
  const edge =
    place > 0.5 ? { right: `${(1 - place) * 100 + 2}%` } : { left: `${place * 100 + 2}%` };
  const pieces = stack.pieces.toReversed();
  return (
    <div className={styles.tip} style={edge} aria-hidden>
      <div>{stack.bucket.label}</div>
      {isLines && stack.isMeasured ? null : (
        <div className={styles.tipTotal}>
          {stack.isMeasured ? showWhole(unit, stack.total) : "No data"}
        </div>
      )}
      {pieces.length < 2 && !isLines ? null : (
        <dl>
          {pieces.map(({ part, at, whole }) => (
            <Fragment key={part.id}>
              <Swatch chartId={`${chartId}-tip-${at}`} paint={paints[at]} />
              <dt>{part.name}</dt>
              <dd>{showWhole(unit, whole)}</dd>
            </Fragment>
          ))}
        </dl>
      )}
    </div>
  );
}
