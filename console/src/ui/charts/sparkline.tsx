import {
  findHighest,
  measureLength,
  showWhole,
  toWhole,
  type Amount,
  type Unit,
} from "./measure.ts";
import styles from "./charts.module.css";

export interface SparklineProps {
  /** Names the metric and its range, such as `"Spend of the last 30 days"`. */
  readonly label: string;
  readonly unit: Unit;
  /** Values from left to right, at equal distances. Null where nothing was measured. */
  readonly values: readonly Amount[];
}

export function Sparkline({ label, unit, values }: SparklineProps) {
  const amounts = values.map((value) => toWhole(unit, value));
  const highest = findHighest(amounts);
  // Skips times without a measurement: without traffic, the time to first token is not zero.
  const places = amounts.flatMap((amount, at) => {
    if (values[at] === null) return [];
    const x = amounts.length < 2 ? 0 : (at / (amounts.length - 1)) * WIDTH;
    return [`${x.toFixed(2)} ${(HEIGHT * (1 - measureLength(amount, highest))).toFixed(2)}`];
  });
  const ends = [places[0], places.at(-1)].map((place) => place?.split(" ")[0]);
  const line = `M${places.join(" L")}`;
  const last = amounts.at(-1) ?? 0n;
  return (
    <svg
      className={`${styles.spark} ${styles.palette}`}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      style={{ height: HEIGHT_PX }}
      role="img"
      aria-label={`${label}: last ${showWhole(unit, last)}, highest ${showWhole(unit, highest)}`}
    >
      {highest === 0n ? null : (
        <>
          <path
            d={`${line} L${ends[1]} ${HEIGHT} L${ends[0]} ${HEIGHT} Z`}
            className={styles.sparkArea}
          />
          <path d={line} className={styles.sparkLine} />
        </>
      )}
    </svg>
  );
}
const HEIGHT_PX = 32;
const WIDTH = 100;
const HEIGHT = 30;
