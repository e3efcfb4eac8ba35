import { useState, type KeyboardEvent, type PointerEvent, Fragment } from "react";

import {
  findHighest,
  measureLength,
  scaleFor,
  showTick,
  showWhole,
  type Scale,
  type Unit,
} from "./measure.ts";
import { toFill, PartFills, Swatch } from "./part-fill.tsx";
import { type Paint, toColour } from "./part-paint.ts";
import { tickPlaces, type ChartBucket, type ChartPart, type Stack } from "./stack-parts.ts";
import styles from "./charts.module.css";

export interface BarsPlotProps {
  readonly label: string;
  readonly unit: Unit;
  readonly parts: readonly ChartPart[];
  readonly stacks: readonly Stack[];
  readonly paints: readonly Paint[];
  /** True for parts that do not add up, such as percentiles. */
  readonly isLines: boolean;
  readonly chartId: string;
  readonly heightPx: number;
  readonly onPick: ((bucket: ChartBucket) => void) | undefined;
}

export function BarsPlot(props: BarsPlotProps) {
  const { unit, stacks, heightPx } = props;
  const [at, setAt] = useState<number>();
  const scale = scaleFor(findHighest(stacks.map(({ total }) => total)));
  const stack = at === undefined ? undefined : stacks[at];
  return (
    <div className={styles.frame}>
      <ScaleLabels unit={unit} scale={scale} />
      <div className={styles.plot} style={{ height: heightPx }}>
        <svg className={styles.bars} role="img" aria-label={describeChart(props)}>
          <PartFills chartId={props.chartId} paints={props.paints} />
          <GridLines scale={scale} />
          <Bars {...props} scale={scale} at={at} />
          {props.isLines ? <Lines {...props} top={scale.top} /> : null}
        </svg>
        <BarReader {...props} at={at} onMove={setAt} />
        {stack === undefined || at === undefined ? null : (
          <BarsTip {...props} stack={stack} place={(at + 0.5) / stacks.length} />
        )}
      </div>
      <TimeLabels stacks={stacks} />
    </div>
  );
}

function describeChart({ label, unit, stacks }: BarsPlotProps): string {
  const top = findHighest(stacks.map(({ total }) => total));
  const highest = stacks.find(({ total }) => total > 0n && total === top);
  if (highest === undefined) return `${label}: ${stacks.length} bars, all of them empty`;
  const most = `highest ${showWhole(unit, top)}, ${highest.bucket.label}`;
  return `${label}: ${stacks.length} bars, ${most}`;
}

function ScaleLabels({ unit, scale }: { readonly unit: Unit; readonly scale: Scale }) {
  const widest = scale.ticks
    .map((tick) => showTick(unit, tick))
    .reduce((a, b) => (b.length > a.length ? b : a), "");
  return (
    <div className={styles.scale} aria-hidden>
      <span className={styles.scaleWidth}>{widest}</span>
      {scale.ticks.map((tick) => (
        <span
          key={String(tick)}
          className={styles.scaleTick}
          style={{ bottom: percent(measureLength(tick, scale.top)) }}
        >
          {showTick(unit, tick)}
        </span>
      ))}
    </div>
  );
}

function GridLines({ scale }: { readonly scale: Scale }) {
  return scale.ticks.map((tick) => {
    const y = percent(1 - measureLength(tick, scale.top));
    return <line key={String(tick)} x1="0" x2="100%" y1={y} y2={y} className={styles.grid} />;
  });
}

/** Share of its bucket's width that a bar takes. The rest is the gap before the next bar. */
const BAR_SHARE = 0.76;

function Bars(props: BarsPlotProps & { readonly scale: Scale; readonly at: number | undefined }) {
  const { stacks, scale, chartId } = props;
  const width = 1 / stacks.length;
  return stacks.map(({ bucket, pieces }, index) => (
    <g key={bucket.id}>
      {index === props.at ? (
        <rect
          x={percent(index * width)}
          width={percent(width)}
          height="100%"
          className={styles.column}
        />
      ) : null}
      {(props.isLines ? [] : pieces).map(({ part, at, whole, below }) => (
        <rect
          key={part.id}
          x={percent((index + (1 - BAR_SHARE) / 2) * width)}
          width={percent(width * BAR_SHARE)}
          y={percent(1 - measureLength(below + whole, scale.top))}
          height={percent(measureLength(whole, scale.top))}
          fill={toFill(chartId, at)}
        />
      ))}
    </g>
  ));
}

/**
 * One tab stop for all bars, because a bar can be too narrow for a target. Arrow keys move between
 * the bars, and a screen reader reads each of them.
 */
function BarReader(
  props: BarsPlotProps & {
    readonly at: number | undefined;
    readonly onMove: (at: number | undefined) => void;
  },
) {
  const { stacks, at, onMove, onPick } = props;
  const last = stacks.length - 1;
  const here = Math.min(at ?? last, last);
  const stack = stacks[here];

  function onKeyDown(event: KeyboardEvent): void {
    if (event.key === "Escape") onMove(undefined);
    if (event.key === "Enter" && stack !== undefined) onPick?.(stack.bucket);
    const next = nextPlace(event.key, here, last);
    if (next === undefined) return;
    event.preventDefault();
    onMove(next);
  }
  function onPointer(event: PointerEvent<HTMLElement>): void {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const place = Math.floor(((event.clientX - left) / Math.max(1, width)) * stacks.length);
    onMove(Math.max(0, Math.min(last, place)));
  }

  if (stack === undefined) return <></>;
  return (
    <div
      className={onPick === undefined ? styles.hit : `${styles.hit} ${styles.hitPick}`}
      tabIndex={0}
      role="slider"
      aria-label={`${props.label}, bar by bar`}
      aria-orientation="horizontal"
      aria-valuemin={1}
      aria-valuemax={stacks.length}
      aria-valuenow={here + 1}
      aria-valuetext={describeStack(props, stack)}
      onKeyDown={onKeyDown}
      onFocus={(event) => {
        if (event.currentTarget.matches(":focus-visible")) onMove(here);
      }}
      onBlur={() => onMove(undefined)}
      onPointerMove={onPointer}
      onPointerDown={onPointer}
      onPointerLeave={() => onMove(undefined)}
      onClick={() => onPick?.(stack.bucket)}
    />
  );
}

function nextPlace(key: string, here: number, last: number): number | undefined {
  const places: Readonly<Record<string, number>> = {
    ArrowLeft: here - 1,
    ArrowDown: here - 1,
    ArrowRight: here + 1,
    ArrowUp: here + 1,
    Home: 0,
    End: last,
  };
  const place = places[key];
  return place === undefined ? undefined : Math.max(0, Math.min(last, place));
}

function describeStack({ unit, isLines }: BarsPlotProps, stack: Stack): string {
  const { bucket, pieces, total, isMeasured } = stack;
  if (!isMeasured) return `${bucket.label}: no data`;
  const whole = `${bucket.label}: ${showWhole(unit, total)}`;
  const parts = pieces.map(({ part, whole: amount }) => `${part.name} ${showWhole(unit, amount)}`);
  if (isLines) return `${bucket.label}: ${parts.join(", ")}`;
  if (pieces.length < 2) return whole;
  return `${whole}; ${parts.reverse().join(", ")}`;
}

const LABELS_MAX = 8;

function TimeLabels({ stacks }: { readonly stacks: readonly Stack[] }) {
  return (
    <div className={styles.ticks} aria-hidden>
      {tickPlaces(stacks.length, LABELS_MAX).map((place) => (
        <span key={place} style={{ left: percent((place + 0.5) / stacks.length) }}>
          {stacks[place]?.bucket.tick}
        </span>
      ))}
    </div>
  );
}

function percent(share: number): string {
  return `${Math.round(share * 1_000_000) / 10_000}%`;
}

/** Shows the figures of the bar under the pointer or focus. Screen readers use `aria-valuetext`. */
function BarsTip(props: BarsPlotProps & { readonly stack: Stack; readonly place: number }) {
  const { unit, paints, chartId, isLines, stack, place } = props;
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

/** Draws one line per part. Times without a measurement are gaps, as 0 ms would be wrong. */
function Lines({ parts, stacks, paints, top }: BarsPlotProps & { readonly top: bigint }) {
  return (
    <svg width="100%" height="100%" viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden>
      {parts.map(({ id }, at) => {
        const stroke = toColour(paints[at] ?? { colour: "own", mark: 0 });
        const { line, dots } = toPaths(stacks, id, top);
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

/** A point between two gaps becomes a dot, because a line through a single point is invisible. */
function toPaths(
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
