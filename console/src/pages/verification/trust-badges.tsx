import type { ReactElement } from "react";

import type { ListingTrust } from "../../../../src/account/console-api/contract.ts";
import { StatusBadge } from "../../ui/badge.tsx";
import { Time } from "../../ui/time.tsx";
import { overbilledWords, TRUST } from "./verification-labels.ts";
import styles from "./verification.module.css";

export function TrustBadges({ trust }: { readonly trust: ListingTrust }): ReactElement {
  const { state, suspect, checked_at } = trust;
  const { tone, word } = TRUST[state];
  const billing = overbilledWords(trust.overbilled_percent);
  return (
    <div className={styles.trust}>
      <div className={styles.badges}>
        <StatusBadge tone={tone}>{word}</StatusBadge>
        {billing === undefined ? null : <StatusBadge tone="bad">{billing}</StatusBadge>}
        {suspect === null ? null : <StatusBadge tone="warn">Suspect</StatusBadge>}
      </div>
      {checked_at === null ? null : (
        <span className={styles.note}>
          <Time at={checked_at} precision="day" />
          {trust.ends_at === null ? null : (
            <>
              {", "}
              {state === "expired" ? "ended" : "until"} <Time at={trust.ends_at} precision="day" />
            </>
          )}
        </span>
      )}
    </div>
  );
}
