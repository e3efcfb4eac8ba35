import { type Catalog, type Deployment, type PriceSheet, zeroPricePin } from "../catalog/index.ts";
import type { PinnedSheet, PricePin } from "../ledger/index.ts";

/**
 * The prices the books have to know before an attempt refers to them: of every deployment its own,
 * those that are announced, their tiers, and those of its use with a customer's own provider key.
 */
export function pricePins(catalog: Catalog): PricePin[] {
  return catalog.deployments.flatMap((deployment) => {
    const { prices, datedPrices, billing } = deployment;
    if (prices === null) return [];
    const zero = zeroPricePin(deployment);
    const own = datedPrices?.map((dated) => dated.prices) ?? [prices];
    const all = [...own.flatMap(({ purchase }) => purchase ?? []), ...own];
    const tiers = all.flatMap((each) => (each.tiers ?? []).map((tier) => tier.prices));
    return [
      ...tiers.map((each) => pricePin(deployment, each)),
      ...all.map((each) => ({
        ...pricePin(deployment, each),
        // A reported cost is not counted: no sheet says what it must be.
        ...(billing === "token" && { sheets: sheetsOf(each) }),
      })),
      { ...pricePin(deployment, zero), sheets: sheetsOf(zero) },
    ];
  });
}

function sheetsOf({ pinId, tiers = [] }: PriceSheet): PinnedSheet[] {
  return [
    { abovePromptTokens: 0, pinId },
    ...tiers.map(({ abovePromptTokens, prices }) => ({ abovePromptTokens, pinId: prices.pinId })),
  ];
}

function pricePin({ providerId, modelId }: Deployment, prices: PriceSheet): PricePin {
  const { pinId, purchase, tiers: _tiers, ...rates } = prices;
  return {
    pinId,
    providerId,
    modelId,
    prices: rates,
    ...(purchase !== undefined && { purchasePinId: purchase.pinId }),
  };
}
