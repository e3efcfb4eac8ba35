import type { ReactElement } from "react";

import { toFill, PartFills } from "./part-fill.tsx";
import type { Paint } from "./part-paint.ts";
import type { ChartPart } from "./stack-parts.ts";
import styles from "./charts.module.css";

export interface ChartLegendProps {
  readonly chartId: string;
  readonly parts: readonly ChartPart[];
  readonly paints: readonly Paint[];
}

export function ChartLegend({ chartId, parts, paints }: ChartLegendProps): ReactElement {
  const ownId = `${chartId}-legend`;
  return (
    <ul className={styles.legend}>
      {parts.map((part, at) => (
        <li key={part.id}>
          <Swatch chartId={`${ownId}-${at}`} paint={paints[at]} />
          {part.name}
        </li>
      ))}
    </ul>
  );
}

export function Swatch(props: {
  readonly chartId: string;
  readonly paint: Paint | undefined;
}): ReactElement {
  return (
    <svg width={12} height={12} className={styles.swatch} aria-hidden>
      <PartFills chartId={props.chartId} paints={props.paint === undefined ? [] : [props.paint]} />
      <rect width={12} height={12} fill={toFill(props.chartId, 0)} />
    </svg>
  );
}
