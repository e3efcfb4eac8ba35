import type { ComparedModel, ListingCost, ModelCosts } from "../../api/contract.ts";
import { formatCount } from "../../ui/format.ts";
import { compareUsd, parseUsd, showUsd, writeUsd } from "../../ui/money-math.ts";

/** Such as `"at least $1.234567"`; undefined if the cost is unknown. */
export function costLabel(cost: ListingCost | undefined): string | undefined {
  if (cost?.cost_usd == null) return undefined;
  const shown = showUsd(cost.cost_usd);
  return cost.is_at_least ? `at least ${shown}` : shown;
}

/** Such as `"−$0.500000 (−25.0%)"`. Undefined if the exact cost is unknown. */
export function differenceLabel(cost: ListingCost | undefined, spent: string): string | undefined {
  if (cost?.cost_usd == null || cost.is_at_least) return undefined;
  const paid = parseUsd(spent);
  const difference = parseUsd(cost.cost_usd) - paid;
  const amount = showUsd(writeUsd(difference), { isSigned: true });
  if (paid === 0n) return amount;
  const tenths = (difference * 1_000n) / paid;
  const size = tenths < 0n ? -tenths : tenths;
  const sign = difference < 0n ? "−" : difference > 0n ? "+" : "";
  return `${amount} (${sign}${size / 10n}.${size % 10n}%)`;
}

export function otherCosts(listings: readonly ListingCost[]): string {
  const costs = listings
    .slice(1)
    .flatMap(({ cost_usd }) => cost_usd ?? [])
    .toSorted(compareUsd);
  const [low] = costs;
  const high = costs.at(-1);
  if (low === undefined || high === undefined) return "–";
  return low === high ? showUsd(low) : `${showUsd(low)} to ${showUsd(high)}`;
}

export function costNotes(model: ComparedModel): readonly string[] {
  if (model.obstacle === "not_listed") return ["Not listed."];
  if (model.obstacle === "modality")
    return ["Not a chat model, so your requests cannot run on it."];
  const [first] = model.listings;
  return [
    ...(first?.cost_usd === null ? ["Billed as reported by the provider."] : []),
    ...(first === undefined || first.too_long === null || first.too_long === 0
      ? []
      : [`${attempts(first.too_long)} longer than its context and cannot run on it.`]),
    ...model.may_lack.map(
      ({ model: other, parts, requests }) =>
        `It does not accept ${parts.join(" or ")}. Some of your ${requestCount(requests)} to ${other} used this and would be rejected.`,
    ),
  ];
}

export function leftOut({ not_counted }: ModelCosts): readonly string[] {
  return not_counted.map(({ model, requests, reason }) =>
    reason === "too_many"
      ? `${requestCount(requests)} to models beyond the 199 with the most spend`
      : `${requestCount(requests)} to ${model}, ${REASONS[reason]}`,
  );
}
const REASONS = {
  modality: "not chat",
  unlisted: "no longer listed",
  own_key: "with your own provider key",
} as const;

function attempts(count: number): string {
  return count === 1 ? "1 attempt is" : `${formatCount(count)} attempts are`;
}

function requestCount(count: number): string {
  return count === 1 ? "1 request" : `${formatCount(count)} requests`;
}
