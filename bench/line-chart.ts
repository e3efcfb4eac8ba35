import type { Point } from "./flatness.ts";

/** One panel of a chart: a line over time with axes of its own. */
export interface Panel {
  readonly title: string;
  readonly unit: string;
  readonly points: readonly Point[];
}

/** A stretch of time that is shaded in every panel. */
export interface Stretch {
  readonly title: string;
  readonly fromSeconds: number;
  readonly toSeconds: number;
}

/** Steps of an axis: from 0 to at least the largest value, round numbers, at most six. */
export interface Scale {
  readonly max: number;
  readonly ticks: readonly number[];
}

const TICKS_MAX = 5;
const WIDTH = 860;
const PANEL_HEIGHT = 150;
const PLOT = { left: 70, right: 20, top: 32, bottom: 24 };

/** A scale from 0 whose steps are 1, 2 or 5 times a power of ten. */
export function scaleOf(largest: number): Scale {
  if (!(largest > 0) || !Number.isFinite(largest)) return { max: 1, ticks: [0, 1] };
  const rough = largest / TICKS_MAX;
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((each) => each * power >= rough * (1 - 1e-9)) ?? 10;
  const step = factor * power;
  const steps = Math.ceil(largest / step - 1e-9);
  const ticks = Array.from({ length: steps + 1 }, (_, at) => round(at * step));
  return { max: round(steps * step), ticks };
}

/** Multiples of a step are exact in decimal, not in binary. */
function round(value: number): number {
  return Number(value.toPrecision(12));
}

/** Panels below each other, as one SVG file that is readable on light and on dark pages. */
export function lineChart(panels: readonly Panel[], stretches: readonly Stretch[] = []): string {
  const height = panels.length * PANEL_HEIGHT;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="system-ui, sans-serif" font-size="11">
<style>
  .paper { fill: #ffffff } .ink { fill: #24292f } .stretch { fill: #d4a72c; opacity: 0.25 } .grid { stroke: #d0d7de } .line { stroke: #0969da }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117 } .ink { fill: #e6edf3 } .grid { stroke: #30363d } .line { stroke: #58a6ff }
  }
</style>
<rect class="paper" width="${WIDTH}" height="${height}"/>
${panels.map((panel, at) => panelMarkup(panel, at * PANEL_HEIGHT, stretches)).join("\n")}
</svg>
`;
}

function panelMarkup(
  { title, unit, points }: Panel,
  top: number,
  stretches: readonly Stretch[],
): string {
  // The line reaches the right edge, wherever the last round minute is.
  const minutesMax = Math.max(0, ...points.map((point) => point.seconds / 60)) || 1;
  const minuteTicks = scaleOf(minutesMax).ticks.filter((tick) => tick <= minutesMax);
  const up = scaleOf(Math.max(0, ...points.map((point) => point.value)));
  const plotWidth = WIDTH - PLOT.left - PLOT.right;
  const bottom = top + PANEL_HEIGHT - PLOT.bottom;
  const plotHeight = PANEL_HEIGHT - PLOT.top - PLOT.bottom;
  const x = (minute: number): string => (PLOT.left + (minute / minutesMax) * plotWidth).toFixed(1);
  const y = (value: number): string => (bottom - (value / up.max) * plotHeight).toFixed(1);
  const rows = up.ticks.map(
    (tick) =>
      `<line class="grid" x1="${PLOT.left}" x2="${WIDTH - PLOT.right}" y1="${y(tick)}" y2="${y(tick)}"/>` +
      `<text class="ink" x="${PLOT.left - 8}" y="${y(tick)}" text-anchor="end" dominant-baseline="middle">${tick}</text>`,
  );
  const columns = minuteTicks.map(
    (tick) =>
      `<text class="ink" x="${x(tick)}" y="${bottom + 15}" text-anchor="middle">${tick} min</text>`,
  );
  const line = points.map((point) => `${x(point.seconds / 60)},${y(point.value)}`).join(" ");
  const shades = stretches.map((each) => {
    const from = x(each.fromSeconds / 60);
    const width = (Number(x(each.toSeconds / 60)) - Number(from)).toFixed(1);
    return (
      `<rect class="stretch" x="${from}" y="${top + PLOT.top}" width="${width}" ` +
      `height="${plotHeight}"><title>${escaped(each.title)}</title></rect>`
    );
  });
  return [
    ...shades,
    `<text class="ink" x="${PLOT.left}" y="${top + 20}" font-weight="600">${escaped(`${title}, ${unit}`)}</text>`,
    ...rows,
    ...columns,
    `<polyline class="line" fill="none" stroke-width="1.5" points="${line}"/>`,
  ].join("\n");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
