import type { ReactElement } from "react";

import kit from "./kit.module.css";
import { showCents, showUsd } from "./money-math.ts";
import { Tip } from "./tip.tsx";

export interface MoneyProps {
  /** Decimal dollars as the API sends them. */
  readonly usd: string;
  /** True: shows the amount rounded to cents, with the exact amount in a tooltip. */
  readonly headline?: boolean;
  /** True: shows two decimals if they are exact, else six. */
  readonly isBrief?: boolean;
  /** True: shows a plus before an amount above zero. */
  readonly signed?: boolean;
}

/** An amount, exact to the micro-dollar unless it is a headline. */
export function Money({
  usd,
  headline = false,
  isBrief = false,
  signed = false,
}: MoneyProps): ReactElement {
  const exact = showUsd(usd, { isSigned: signed });
  if (!headline) {
    return (
      <span className={kit.figures}>{isBrief ? exact.replace(/(\.\d\d)0000$/, "$1") : exact}</span>
    );
  }
  return (
    <Tip label={`Exactly ${exact}`}>
      <span className={kit.figures} tabIndex={0}>
        {showCents(usd, { isSigned: signed })}
      </span>
    </Tip>
  );
}
