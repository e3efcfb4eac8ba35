import { useMemo, type ReactElement, type ReactNode } from "react";

import type { Usage, UsageFigures } from "../../../../src/account/console-api/contract.ts";
import { ChangeMark } from "../../ui/change-mark.tsx";
import { Sparkline } from "../../ui/charts/sparkline.tsx";
import { formatCount, formatMs, formatShare } from "../../ui/count.tsx";
import { FigureCard } from "../../ui/figure-card.tsx";
import { showUsd } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { shortTokens } from "../models/model-labels.ts";
import { metricOf, chartData, countRejected, unitOf } from "./chart-data.ts";
import { inAndOut } from "./outcome-labels.ts";
import { METRICS, type Metric } from "./usage-search.ts";
import styles from "./usage.module.css";

export interface UsageTotalsProps {
  readonly usage: Usage;
  /** Figures of the previous time range. Undefined if unknown, or if it had no requests. */
  readonly before: UsageFigures | undefined;
  /** Names the previous time range, such as `"in the 7 days before"`. */
  readonly than: string;
}

export function UsageTotals(props: UsageTotalsProps): ReactElement {
  const { usage, before, than } = props;
  const { totals } = usage;
  const shared = { usage, before, than };
  const { requests, by_status, tokens } = totals;
  const rejected = countRejected(totals);
  const { in: tokensIn, out: tokensOut } = inAndOut(tokens);
  return (
    <div className={styles.totals}>
      <MetricCard
        metric="spend"
        {...shared}
        value={<Money usd={totals.spent_usd} headline />}
        hint={`Exactly ${showUsd(totals.spent_usd)}`}
      />
      <MetricCard
        metric="requests"
        {...shared}
        value={formatCount(requests)}
        hint={requests === 0 ? "None in this time range" : "Of any status"}
      />
      <MetricCard
        metric="errors"
        {...shared}
        value={formatCount(by_status.failed)}
        hint={describeShare(by_status.failed, requests)}
      />
      <MetricCard
        metric="rejected"
        {...shared}
        value={formatCount(rejected)}
        hint={describeShare(rejected, requests)}
      />
      <MetricCard
        metric="tokens"
        {...shared}
        value={formatCount(tokensIn + tokensOut)}
        hint={`${shortTokens(tokensIn)} in, ${shortTokens(tokensOut)} out`}
      />
      <MetricCard
        metric="ttft"
        {...shared}
        value={formatMs(totals.ttft_p50_ms)}
        hint={`p50 · p95 ${formatMs(totals.ttft_p95_ms)}`}
      />
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

function MetricCard(props: MetricCardProps): ReactElement {
  const { metric, usage, before } = props;
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
      change={
        <ChangeMark
          unit={unitOf(metric)}
          now={metricOf(usage.totals, metric)}
          before={before && metricOf(before, metric)}
          than={props.than}
        />
      }
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
