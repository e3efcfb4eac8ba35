import type { CatalogNote } from "./catalog-input.ts";
import type { Deployment, PriceSheet } from "./catalog.ts";

/** Notes on listings of which a sale can cost more than it brings: legal, and rarely meant. */
export function purchaseNotes(file: string, deployment: Deployment): CatalogNote[] {
  const { id, prices, datedPrices } = deployment;
  const sheets = datedPrices?.map((dated) => dated.prices) ?? (prices === null ? [] : [prices]);
  if (!sheets.some(isBoughtDearer)) return [];
  const message = `${id} is bought for more than it is sold: a purchase price is above its price`;
  return [{ file, deploymentId: id, reason: "purchase_above_price", message }];
}

function isBoughtDearer(prices: PriceSheet): boolean {
  const { purchase } = prices;
  if (purchase === undefined) return false;
  const bounds = [...(prices.tiers ?? []), ...(purchase.tiers ?? [])];
  return [0, ...bounds.map((tier) => tier.abovePromptTokens + 1)].some((promptTokens) => {
    const sold = ratesAt(prices, promptTokens);
    const bought = ratesAt(purchase, promptTokens);
    return bought.some((rate, sku) => rate > (sold[sku] ?? rate));
  });
}

function ratesAt(sheet: PriceSheet, promptTokens: number): readonly bigint[] {
  const tier = sheet.tiers?.findLast((each) => promptTokens > each.abovePromptTokens);
  const { prompt, cachedPrompt, cacheWrite, cacheWrite1h, completion, internalReasoning } =
    tier?.prices ?? sheet;
  const hour = cacheWrite1h ?? cacheWrite;
  return [prompt, cachedPrompt, cacheWrite, hour, completion, internalReasoning];
}
