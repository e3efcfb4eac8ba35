import type { ReactElement } from "react";

import { toColour, type Paint } from "./part-paint.ts";
import type { ChartPart } from "./stack-parts.ts";
import styles from "./charts.module.css";

/** The `fill` value of a part's pattern. `chartId` must be unique on the page. */
export function toFill(chartId: string, at: number): string {
  return `url(#${fillId(chartId, at)})`;
}

/** Defines the colors and patterns of a chart's parts. It must be placed inside an `svg`. */
export function PartFills(props: { readonly chartId: string; readonly paints: readonly Paint[] }) {
  return (
    <defs>
      {props.paints.map((paint, at) => (
        <pattern
          key={at}
          id={fillId(props.chartId, at)}
          width={8}
          height={8}
          patternUnits="userSpaceOnUse"
        >
          <rect width={8} height={8} fill={toColour(paint)} />
          {PATTERNS[paint.mark]}
        </pattern>
      ))}
    </defs>
  );
}

function fillId(chartId: string, at: number): string {
  return `${chartId}-${at}`;
}

/** The patterns; `Paint.mark` is the index. Pattern 0 is plain. */
const PATTERNS: readonly (ReactElement | null)[] = [
  null,
  line("M-2 10 L10 -2 M-2 2 L2 -2 M6 10 L10 6"),
  <circle key="dots" cx={4} cy={4} r={1.6} fill="var(--part-line)" />,
  line("M0 2 H8 M0 6 H8"),
  line("M-2 -2 L10 10 M-2 6 L2 10 M6 -2 L10 2"),
  line("M2 0 V8 M6 0 V8"),
  line("M0 4 H8 M4 0 V8"),
];

function line(d: string) {
  return <path d={d} stroke="var(--part-line)" strokeWidth={1.4} fill="none" />;
}

interface ChartLegendProps {
  readonly chartId: string;
  readonly parts: readonly ChartPart[];
  readonly paints: readonly Paint[];
}

export function ChartLegend({ chartId, parts, paints }: ChartLegendProps) {
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

export function Swatch(props: { readonly chartId: string; readonly paint: Paint | undefined }) {
  return (
    <svg width={12} height={12} className={styles.swatch} aria-hidden>
      <PartFills chartId={props.chartId} paints={props.paint === undefined ? [] : [props.paint]} />
      <rect width={12} height={12} fill={toFill(props.chartId, 0)} />
    </svg>
  );
}
