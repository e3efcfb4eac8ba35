import type { ReactElement } from "react";

import { fillOf, PartFills } from "./part-fill.tsx";
import type { ChartPart } from "./stack-parts.ts";
import styles from "./charts.module.css";

export interface ChartLegendProps {
  readonly chartId: string;
  readonly parts: readonly ChartPart[];
}

/** Which colour and which pattern is which part. */
export function ChartLegend({ chartId, parts }: ChartLegendProps): ReactElement {
  const ownId = `${chartId}-legend`;
  return (
    <ul className={styles.legend}>
      {parts.map((part, at) => (
        <li key={part.id}>
          <Swatch chartId={`${ownId}-${at}`} at={at} />
          {part.name}
        </li>
      ))}
    </ul>
  );
}

/** A square of a part's colour and pattern. */
export function Swatch(props: { readonly chartId: string; readonly at: number }): ReactElement {
  return (
    <svg width={12} height={12} className={styles.swatch} aria-hidden>
      <PartFills chartId={props.chartId} count={props.at + 1} />
      <rect width={12} height={12} fill={fillOf(props.chartId, props.at)} />
    </svg>
  );
}
