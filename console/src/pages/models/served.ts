import type {
  ListingFigures,
  ModelProvider,
} from "../../../../src/account/console-api/contract.ts";

/** How one provider served one model in the last 30 days; null means not measured. */
export interface ServedListing {
  readonly success: number | null;
  readonly uptime: number | null;
  readonly ttftMs: number | null;
  readonly tokensPerSecond: number | null;
}

/** How all providers served a model in the last 30 days. */
export interface Served {
  readonly share: number;
  readonly byProvider: ReadonlyMap<string, ServedListing>;
}

/** Figures by model ID. A model without calls has no entry. */
export type ServedModels = ReadonlyMap<string, Served>;

export function indexServedModels(listings: readonly ListingFigures[]): ServedModels {
  const models = new Map<string, Served>();
  for (const listing of listings) {
    const { model, provider, success, uptime, ttft_p50_ms: ttftMs } = listing;
    const known = models.get(model);
    const own = { success, uptime, ttftMs, tokensPerSecond: listing.tokens_per_second };
    models.set(model, {
      share: (known?.share ?? 0) + listing.share_of_calls,
      byProvider: new Map([...(known?.byProvider ?? []), [provider, own]]),
    });
  }
  return models;
}

/** The figures of the model's first provider, whose prices the page also shows. */
export function servedFirst(
  served: ServedModels | undefined,
  of: { readonly id: string; readonly providers: readonly ModelProvider[] },
): ServedListing | undefined {
  return served?.get(of.id)?.byProvider.get(of.providers[0]?.provider ?? "");
}
