import {
  type Catalog,
  CHECK_DAYS_MAX,
  isBelowCost,
  OLD_DAYS,
  staleListings,
} from "../../catalog/index.ts";
import { dollars, formatUsd, ZERO_MICRO_USD } from "../../kernel/index.ts";
import type { ListingLoss } from "../../gateway/index.ts";
import type { OperatorHealth } from "./contract.ts";

export const LOSS_DAYS = 7;
const NAMES_MAX = 20;

type Notice = OperatorHealth["notices"][number];

/**
 * Lists an operator's notices about prices: listings sold at a loss, prices not confirmed for long,
 * and changes that wait for an operator.
 */
export function catalogNotices(
  catalog: Pick<Catalog, "models">,
  losses: readonly ListingLoss[],
  refreshWaits: readonly string[],
): Notice[] {
  const routed = catalog.models.flatMap(({ deployments }) => deployments);
  const lostBy = new Map(
    losses.map(({ providerId, modelId, lostMicroUsd }) => [
      `${providerId}/${modelId}`,
      lostMicroUsd,
    ]),
  );
  const below = new Set(routed.filter(isBelowCost).map(({ id }) => id));
  // A listing that lost money is named even if its price is no longer below its cost.
  const named = [...new Set([...lostBy.keys(), ...below])].slice(0, NAMES_MAX);
  const waiting = refreshWaits
    .slice(0, NAMES_MAX)
    .map((text): Notice => ({ kind: "refresh_waits", text }));
  const atLoss = named.map((id): Notice => {
    const lost = lostBy.get(id);
    const is = below.has(id) ? "is sold for less" : "was sold for less";
    const text = `${id} ${is} than its provider is owed: ${dollars(formatUsd(lost ?? ZERO_MICRO_USD))} lost in ${LOSS_DAYS} days.`;
    return { kind: "below_cost", text };
  });
  const stale = staleListings(catalog);
  if (stale.length === 0) return [...atLoss, ...waiting];
  const ids = stale.slice(0, NAMES_MAX).map(({ deployment, on }) => `${deployment.id} (${on})`);
  const more = stale.length > NAMES_MAX ? ` and ${stale.length - NAMES_MAX} more` : "";
  const text =
    `No source has confirmed these prices for ${CHECK_DAYS_MAX} days; after ${OLD_DAYS} the listing is ` +
    `tried last: ${ids.join(", ")}${more}. Run \`tokenmarket manifest refresh\`.`;
  return [...atLoss, ...waiting, { kind: "stale_prices", text }];
}
