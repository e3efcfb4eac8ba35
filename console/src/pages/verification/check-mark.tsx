import { CircleAlert, CircleCheck, CircleHelp, CircleMinus, CircleX } from "lucide-react";
import type { ReactElement } from "react";

import type { CheckFinding } from "../../../../src/account/console-api/contract.ts";
import kit from "../../ui/kit.module.css";
import { CHECK_STATUS } from "./verification-labels.ts";
import styles from "./verification.module.css";

/** An icon for the status of a check. Each status has its own shape, not only its own color. */
export function CheckMark(props: { readonly status: CheckFinding["status"] }): ReactElement {
  const Mark = MARKS[props.status];
  const tone = kit[`tone-${CHECK_STATUS[props.status].tone}`];
  return <Mark size={16} aria-hidden className={`${styles.mark} ${tone}`} />;
}

const MARKS = {
  pass: CircleCheck,
  warn: CircleAlert,
  fail: CircleX,
  skip: CircleMinus,
  error: CircleHelp,
} as const;
