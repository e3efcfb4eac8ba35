import { Text } from "@mantine/core";
import { CircleAlert } from "lucide-react";
import type { ReactElement } from "react";

import type { ListingTrust } from "../../../../src/account/console-api/contract.ts";
import { Time } from "../../ui/time.tsx";
import { breachLines } from "./verification-labels.ts";
import styles from "./verification.module.css";

/** The promises that live answers broke; nothing if the listing is not suspect. */
export function SuspectNote({ suspect }: Pick<ListingTrust, "suspect">): ReactElement | null {
  if (suspect === null) return null;
  return (
    <div className={styles.suspect} role="note" aria-label="Suspect by live answers">
      <CircleAlert size={18} aria-hidden className={styles.mark} />
      <div>
        <Text size="sm" fw={600}>
          Suspect since <Time at={suspect.since} />
        </Text>
        <Text size="sm">
          Live answers do not match what the listing promises, so it is tried last until a run
          passes. Of the latest answers:
        </Text>
        <ul className={styles.breaches}>
          {breachLines(suspect).map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      </div>
    </div>
  );
}
