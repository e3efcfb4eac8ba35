import type { ReactElement } from "react";

/** How many parts have a colour of their own; further ones share the last. */
export const PARTS_MAX = 8;

/** The pattern's name in its document; `chartId` separates two charts of a page. */
export function fillOf(chartId: string, at: number): string {
  return `url(#${fillId(chartId, at)})`;
}

/**
 * A colour and a pattern for each part: users who cannot distinguish colours see the patterns.
 * Belongs inside an `svg`.
 */
export function PartFills(props: { readonly chartId: string; readonly count: number }) {
  const count = Math.min(props.count, PARTS_MAX);
  return (
    <defs>
      {Array.from({ length: count }, (_none, at) => (
        <pattern
          key={at}
          id={fillId(props.chartId, at)}
          width={8}
          height={8}
          patternUnits="userSpaceOnUse"
        >
          <rect width={8} height={8} fill={`var(--part-${at})`} />
          {MARKS[at]}
        </pattern>
      ))}
    </defs>
  );
}

function fillId(chartId: string, at: number): string {
  return `${chartId}-${Math.min(at, PARTS_MAX - 1)}`;
}

/** The first one and the last one are plain. */
const MARKS: readonly (ReactElement | null)[] = [
  null,
  line("M-2 10 L10 -2 M-2 2 L2 -2 M6 10 L10 6"),
  <circle key="dots" cx={4} cy={4} r={1.6} fill="var(--part-line)" />,
  line("M0 2 H8 M0 6 H8"),
  line("M-2 -2 L10 10 M-2 6 L2 10 M6 -2 L10 2"),
  line("M2 0 V8 M6 0 V8"),
  line("M0 4 H8 M4 0 V8"),
  null,
];

function line(d: string): ReactElement {
  return <path d={d} stroke="var(--part-line)" strokeWidth={1.4} fill="none" />;
}
