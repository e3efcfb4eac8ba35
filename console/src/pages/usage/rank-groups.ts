import type { Usage } from "../../../../src/account/console-api/contract.ts";
import { toWhole, type Amount, type Unit } from "../../ui/charts/measure.ts";
import { groupName, rejectedOf, unitOf } from "./chart-data.ts";
import { inAndOut } from "./outcome-labels.ts";
import type { GroupBy, Metric } from "./usage-search.ts";

export interface RankedGroup {
  readonly id: string;
  readonly name: string;
  readonly value: Amount;
}

/** The groups that have most of a metric, most first; groups without any of it are left out. */
export function rankGroups(
  usage: Usage,
  of: { readonly metric: Metric; readonly by: GroupBy },
  most: number,
): readonly RankedGroup[] {
  const unit: Unit = unitOf(of.metric);
  return usage.groups
    .map((each) => ({
      id: each.group,
      name: groupName(of.by, each),
      value: amountOf(each.figures, of.metric),
    }))
    .filter(({ value }) => toWhole(unit, value) > 0n)
    .sort((a, b) => (toWhole(unit, a.value) < toWhole(unit, b.value) ? 1 : -1))
    .slice(0, most);
}

/** A metric of the figures of a range or of a group. */
export function amountOf(figures: Usage["totals"], metric: Metric): Amount {
  const { in: tokensIn, out: tokensOut } = inAndOut(figures.tokens);
  const amounts: Readonly<Record<Metric, Amount>> = {
    spend: figures.spent_usd,
    requests: figures.requests,
    tokens: tokensIn + tokensOut,
    errors: figures.by_status.failed,
    rejected: rejectedOf(figures),
    ttft: figures.ttft_p50_ms,
  };
  return amounts[metric];
}
