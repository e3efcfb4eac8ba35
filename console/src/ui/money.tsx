import kit from "./kit.module.css";
import { showCents, showUsd } from "./money-math.ts";
import { Tip } from "./tip.tsx";

export interface MoneyProps {
  readonly usd: string;
  /** If true, shows the amount rounded to cents, with the exact amount in a tooltip. */
  readonly headline?: boolean;
  /** If true, shows two decimals if they are exact, and six otherwise. */
  readonly isBrief?: boolean;
  /** If true, shows a plus sign before an amount above zero. */
  readonly signed?: boolean;
}

/** Shows an amount. It is exact to the micro-dollar, unless it is a headline. */
export function Money({ usd, headline = false, isBrief = false, signed = false }: MoneyProps) {
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
