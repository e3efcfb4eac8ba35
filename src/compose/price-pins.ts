import type { Catalog } from "../catalog/catalog.ts";
import type { PricePin } from "../ledger/ledger-store.ts";

/** The prices the books have to know before an attempt refers to them. */
export function pricePins(catalog: Catalog): PricePin[] {
  return catalog.deployments.flatMap(({ prices, providerId, modelId }) =>
    prices === null
      ? []
      : {
          pinId: prices.pinId,
          providerId,
          modelId,
          promptPico: prices.prompt,
          cachedPromptPico: prices.cachedPrompt,
          cacheWritePico: prices.cacheWrite,
          completionPico: prices.completion,
          internalReasoningPico: prices.internalReasoning,
        },
  );
}
