import { Text } from "@mantine/core";
import { ChevronDown } from "lucide-react";
import { useEffect, useRef, type ReactElement } from "react";

import type { CheckFinding } from "../../../../src/account/console-api/contract.ts";
import { CheckMark } from "./check-mark.tsx";
import { CHECK_STATUS, checkName } from "./verification-labels.ts";
import styles from "./verification.module.css";

/** Lists the checks of a run. At first, the chosen check and those that did not pass are open. */
export function FindingList(props: {
  readonly checks: readonly CheckFinding[];
  readonly chosen: string | undefined;
  /** How often the reader has chosen a check. Each choice moves the focus to the chosen check. */
  readonly choices: number;
}): ReactElement {
  return (
    <ul className={styles.findings}>
      {props.checks.map((check) => (
        <li key={check.id}>
          <Finding check={check} choices={check.id === props.chosen ? props.choices : undefined} />
        </li>
      ))}
    </ul>
  );
}

function Finding(props: {
  readonly check: CheckFinding;
  /** Number of the reader's choices so far. Undefined unless this check is the chosen one. */
  readonly choices: number | undefined;
}): ReactElement {
  const { check, choices } = props;
  const { status, message, evidence } = check;
  const details = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (choices === undefined || details.current === null) return;
    details.current.open = true;
    if (choices > 0) details.current.querySelector("summary")?.focus();
  }, [choices]);
  const isProblem = status === "fail" || status === "warn" || status === "error";
  return (
    <details ref={details} className={styles.finding} open={isProblem}>
      <summary>
        <CheckMark status={status} />
        <span className={styles.findingName}>
          {checkName(check)} <span className={styles.note}>{CHECK_STATUS[status].word}</span>
        </span>
        <ChevronDown size={16} aria-hidden className={styles.chevron} />
      </summary>
      <div className={styles.findingBody}>
        <Text size="sm">{message}</Text>
        {evidence.length === 0 ? null : (
          <dl className={styles.evidence}>
            {evidence.map(({ name, value }) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  <code>{value}</code>
                </dd>
              </div>
            ))}
          </dl>
        )}
      </div>
    </details>
  );
}
