import { useMemo, type ReactNode } from "react";

import type { Usage, UsageFigures } from "../../api/contract.ts";
import { ChangeMark, FigureCard } from "../../ui/figure-card.tsx";
import { Sparkline } from "../../ui/charts/sparkline.tsx";
import { formatCount, formatMs, formatShare } from "../../ui/format.ts";
import { showUsd } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { shortTokens } from "../models/model-labels.ts";
import { metricOf, chartData } from "./chart-data.ts";
import { countRejected, inAndOut } from "./outcome-labels.ts";
import { METRIC_FACTS, type Metric } from "./usage-search.ts";
import styles from "./usage.module.css";

export interface UsageTotalsProps {
  readonly usage: Usage;
  /** Figures of the previous time range. Undefined if unknown, or if it had no requests. */
  readonly before: UsageFigures | undefined;
  /** Names the previous time range, such as `"in the 7 days before"`. */
  readonly than: string;
}

export function UsageTotals(props: UsageTotalsProps) {
  const { totals } = props.usage;
  const { requests, by_status, tokens, spent_usd: usd } = totals;
  const rejected = countRejected(totals);
  const { in: tokensIn, out: tokensOut } = inAndOut(tokens);
  const cards: readonly (readonly [Metric, value: ReactNode, hint: string])[] = [
    ["spend", <Money usd={usd} headline />, `Exactly ${showUsd(usd)}`],
    [
      "requests",
      formatCount(requests),
      requests === 0 ? "None in this time range" : "Of any status",
    ],
    ["errors", formatCount(by_status.failed), describeShare(by_status.failed, requests)],
    ["rejected", formatCount(rejected), describeShare(rejected, requests)],
    [
      "tokens",
      formatCount(tokensIn + tokensOut),
      `${shortTokens(tokensIn)} in, ${shortTokens(tokensOut)} out`,
    ],
    ["ttft", formatMs(totals.ttft_p50_ms), `p50 · p95 ${formatMs(totals.ttft_p95_ms)}`],
  ];
  return (
    <div className={styles.totals}>
      {cards.map(([metric, value, hint]) => (
        <MetricCard key={metric} {...props} {...{ metric, value, hint }} />
      ))}
    </div>
  );
}

function describeShare(count: number, requests: number): string {
  return requests === 0 ? "Of all requests" : `${formatShare(count / requests)} of all requests`;
}

interface MetricCardProps extends UsageTotalsProps {
  readonly metric: Metric;
  readonly value: ReactNode;
  readonly hint: string;
}

function MetricCard(props: MetricCardProps) {
  const { metric, usage, before } = props;
  const { label, unit } = METRIC_FACTS[metric];
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
      change={
        <ChangeMark
          unit={unit}
          now={metricOf(usage.totals, metric)}
          before={before && metricOf(before, metric)}
          than={props.than}
        />
      }
      hint={
        <>
          {props.hint}
          <div className={styles.spark}>
            <Sparkline label={`${label} over time`} unit={unit} values={values} />
          </div>
        </>
      }
    />
  );
}
