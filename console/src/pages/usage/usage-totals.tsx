import type { ReactElement } from "react";

import type { UsageFigures } from "../../../../src/console-api/contract.ts";
import { formatCount, formatMs, formatShare } from "../../ui/count.tsx";
import { FigureCard } from "../../ui/figure-card.tsx";
import { Money } from "../../ui/money.tsx";
import { inAndOut } from "./outcome-words.ts";
import styles from "./usage.module.css";

/** The range in five figures; the spend is exact. */
export function UsageTotals({ totals }: { readonly totals: UsageFigures }): ReactElement {
  const { requests, failed, tokens } = totals;
  const { in: tokensIn, out: tokensOut } = inAndOut(tokens);
  return (
    <div className={styles.totals}>
      <FigureCard label="Spend" value={<Money usd={totals.spent_usd} />} hint="As debited" />
      <FigureCard label="Requests" value={formatCount(requests)} />
      <FigureCard
        label="Errors"
        value={formatCount(failed)}
        hint={requests === 0 ? undefined : `${formatShare(failed / requests)} of all requests`}
      />
      <FigureCard
        label="Tokens"
        value={formatCount(tokensIn + tokensOut)}
        hint={`${formatCount(tokensIn)} in (${formatCount(tokens.cached_prompt)} cached), ${formatCount(tokensOut)} out`}
      />
      <FigureCard
        label="Time to first byte"
        value={formatMs(totals.ttft_p50_ms)}
        hint={`Median; 95% within ${formatMs(totals.ttft_p95_ms)}`}
      />
    </div>
  );
}
