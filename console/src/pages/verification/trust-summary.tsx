import type { ReactElement } from "react";

import { StatusBadge } from "../../ui/badge.tsx";
import { formatCount } from "../../ui/count.tsx";
import kit from "../../ui/kit.module.css";
import { overbilledWords, type TrustCount } from "./verification-labels.ts";
import styles from "./verification.module.css";

export function TrustSummary({ count }: { readonly count: TrustCount }): ReactElement {
  const { listed, verified, failed, suspect } = count;
  const billing = overbilledWords(count.overbilledPercent);
  return (
    <div className={styles.badges}>
      <span className={kit.figures}>
        {formatCount(verified)} of {formatCount(listed)}
      </span>
      {failed === 0 ? null : <StatusBadge tone="bad">{formatCount(failed)} failed</StatusBadge>}
      {billing === undefined ? null : <StatusBadge tone="bad">{billing}</StatusBadge>}
      {suspect === 0 ? null : <StatusBadge tone="warn">{formatCount(suspect)} suspect</StatusBadge>}
    </div>
  );
}
