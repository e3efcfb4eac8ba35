import { useMemo, type ReactElement, type ReactNode } from "react";

import type { Usage } from "../../../../src/console-api/contract.ts";
import { Sparkline } from "../../ui/charts/sparkline.tsx";
import { formatCount, formatMs, formatShare } from "../../ui/count.tsx";
import { FigureCard } from "../../ui/figure-card.tsx";
import { showUsd } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { shortTokens } from "../models/model-labels.ts";
import { chartData, rejectedOf, unitOf } from "./chart-data.ts";
import { inAndOut } from "./outcome-labels.ts";
import { METRICS, type Metric } from "./usage-search.ts";
import styles from "./usage.module.css";

/** The range in five figures, and how each of them went. */
export function UsageTotals({ usage }: { readonly usage: Usage }): ReactElement {
  const { totals } = usage;
  const { requests, by_status, tokens } = totals;
  const rejected = rejectedOf(totals);
  const { in: tokensIn, out: tokensOut } = inAndOut(tokens);
  return (
    <div className={styles.totals}>
      <MetricCard
        metric="spend"
        usage={usage}
        value={<Money usd={totals.spent_usd} headline />}
        hint={`Exactly ${showUsd(totals.spent_usd)}`}
      />
      <MetricCard
        metric="requests"
        usage={usage}
        value={formatCount(requests)}
        hint={requests === 0 ? "None in this time range" : "Including failed and rejected"}
      />
      <MetricCard
        metric="errors"
        usage={usage}
        value={formatCount(by_status.failed)}
        hint={shareOf(by_status.failed, requests)}
      />
      <MetricCard
        metric="rejected"
        usage={usage}
        value={formatCount(rejected)}
        hint={shareOf(rejected, requests)}
      />
      <MetricCard
        metric="tokens"
        usage={usage}
        value={formatCount(tokensIn + tokensOut)}
        hint={`${shortTokens(tokensIn)} in, ${shortTokens(tokensOut)} out`}
      />
      <MetricCard
        metric="ttft"
        usage={usage}
        value={formatMs(totals.ttft_p50_ms)}
        hint={`p50 · p95 ${formatMs(totals.ttft_p95_ms)}`}
      />
    </div>
  );
}

function shareOf(count: number, requests: number): string {
  return requests === 0 ? "Of all requests" : `${formatShare(count / requests)} of all requests`;
}

function MetricCard(props: {
  readonly metric: Metric;
  readonly usage: Usage;
  readonly value: ReactNode;
  readonly hint: string;
}): ReactElement {
  const { metric, usage } = props;
  const label = METRICS.find(({ value }) => value === metric)?.label ?? "";
  const values = useMemo(
    () =>
      chartData(usage, metric, "day").buckets.map(
        (each) => each.values["all"] ?? each.values["p50"] ?? null,
      ),
    [usage, metric],
  );
  return (
    <FigureCard
      label={label}
      value={props.value}
      hint={
        <>
          {props.hint}
          <div className={styles.spark}>
            <Sparkline label={`${label} over time`} unit={unitOf(metric)} values={values} />
          </div>
        </>
      }
    />
  );
}
