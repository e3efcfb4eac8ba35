import { useMemo, type ReactElement } from "react";

import type { Usage } from "../../../../src/account/console-api/contract.ts";
import { RankBars } from "../../ui/charts/rank-bars.tsx";
import { unitOf } from "./chart-data.ts";
import { rankGroups } from "./rank-groups.ts";
import { METRICS, type GroupBy, type Metric } from "./usage-search.ts";
import styles from "./usage.module.css";

const ROWS_MAX = 5;

export interface GroupRankProps {
  readonly usage: Usage;
  readonly by: GroupBy;
  readonly metric: Metric;
}

/** The groups that have most of the chosen metric; days are shown by the chart above. */
export function GroupRank({ usage, by, metric }: GroupRankProps): ReactElement | null {
  const rows = useMemo(() => rankGroups(usage, { metric, by }, ROWS_MAX), [usage, metric, by]);
  if (by === "day" || rows.length < 2) return null;
  const name = METRICS.find(({ value }) => value === metric)?.label ?? "";
  return (
    <div className={styles.rank}>
      <RankBars label={`Most by ${name.toLowerCase()}`} unit={unitOf(metric)} rows={rows} />
    </div>
  );
}
