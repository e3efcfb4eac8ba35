import { Fragment, type ReactElement } from "react";

import { Swatch } from "./chart-legend.tsx";
import { showWhole, type Unit } from "./measure.ts";
import type { Stack } from "./stack-parts.ts";
import styles from "./charts.module.css";

export interface BarsTipProps {
  readonly unit: Unit;
  readonly stack: Stack;
  readonly chartId: string;
  /** The bar's position, 0 to 1 from the left. */
  readonly place: number;
}

/** The figures of the focused bar; the bar's text says the same to a screen reader. */
export function BarsTip({ unit, stack, chartId, place }: BarsTipProps): ReactElement {
  const edge =
    place > 0.5 ? { right: `${(1 - place) * 100 + 2}%` } : { left: `${place * 100 + 2}%` };
  const pieces = stack.pieces.toReversed();
  return (
    <div className={styles.tip} style={edge} aria-hidden>
      <div>{stack.bucket.label}</div>
      <div className={styles.tipTotal}>
        {stack.isMeasured ? showWhole(unit, stack.total) : "No data"}
      </div>
      {pieces.length < 2 ? null : (
        <dl>
          {pieces.map(({ part, at, whole }) => (
            <Fragment key={part.id}>
              <Swatch chartId={`${chartId}-tip-${at}`} at={at} />
              <dt>{part.name}</dt>
              <dd>{showWhole(unit, whole)}</dd>
            </Fragment>
          ))}
        </dl>
      )}
    </div>
  );
}
