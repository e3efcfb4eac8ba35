import type { ReactElement, ReactNode } from "react";

import { useHatching } from "./hatching.ts";
import { lengthOf, showWhole, toWhole, type Amount, type Unit } from "./measure.ts";
import { colourOf, paintsOf, type Paint } from "./part-paint.ts";
import styles from "./charts.module.css";

export interface RankBarsProps {
  /** The subject and the metric: `"Models by spend"`. */
  readonly label: string;
  readonly unit: Unit;
  /** In the order they are shown; the longest bar is the highest amount. */
  readonly rows: readonly {
    readonly id: string;
    /** A name, or a link with it. */
    readonly name: ReactNode;
    readonly value: Amount;
    /** A second figure beside it. */
    readonly hint?: ReactNode;
  }[];
}

const OWN: Paint = { colour: "own", mark: 0 };

/** A ranking: names with their figures, and bars that show the distances. */
export function RankBars({ label, unit, rows }: RankBarsProps): ReactElement {
  const amounts = rows.map(({ value }) => toWhole(unit, value));
  const paints = paintsOf(rows, useHatching());
  const highest = amounts.reduce((a, b) => (b > a ? b : a), 0n);
  return (
    <ol className={`${styles.rank} ${styles.palette}`} aria-label={label}>
      {rows.map(({ id, name, value, hint }, at) => (
        <li key={id}>
          <div className={styles.rankLine}>
            <span className={styles.rankName}>{name}</span>
            <span className={styles.rankValue}>
              {value === null ? "–" : showWhole(unit, amounts[at] ?? 0n)}
              {hint === undefined ? null : <span className={styles.rankHint}>{hint}</span>}
            </span>
          </div>
          <svg className={styles.rankTrack} aria-hidden>
            <rect width="100%" height="100%" rx={4} className={styles.rankGround} />
            <rect
              width={`${lengthOf(amounts[at] ?? 0n, highest) * 100}%`}
              height="100%"
              rx={4}
              fill={colourOf(paints[at] ?? OWN)}
            />
          </svg>
        </li>
      ))}
    </ol>
  );
}
