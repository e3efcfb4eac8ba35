import { type Catalog, type Deployment, type PriceSheet, zeroPricePin } from "../catalog/index.ts";
import type { PricePin } from "../ledger/index.ts";

/**
 * The prices the books have to know before an attempt refers to them: of every deployment its own,
 * and those of its use with a customer's own provider key.
 */
export function pricePins(catalog: Catalog): PricePin[] {
  return catalog.deployments.flatMap((deployment) =>
    deployment.prices === null
      ? []
      : [pricePin(deployment, deployment.prices), pricePin(deployment, zeroPricePin(deployment))],
  );
}

function pricePin({ providerId, modelId }: Deployment, prices: PriceSheet): PricePin {
  return {
    pinId: prices.pinId,
    providerId,
    modelId,
    promptPico: prices.prompt,
    cachedPromptPico: prices.cachedPrompt,
    cacheWritePico: prices.cacheWrite,
    completionPico: prices.completion,
    internalReasoningPico: prices.internalReasoning,
  };
}
