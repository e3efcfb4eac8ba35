import type { ListingFigures } from "../../../../src/account/console-api/contract.ts";

/** How a model was served in the last 30 days, by the best of its providers in each figure. */
export interface Served {
  readonly success: number | null;
  readonly ttftMs: number | null;
  readonly tokensPerSecond: number | null;
  /** The figures of each of its providers, by the provider's id. */
  readonly byProvider: ReadonlyMap<string, ServedListing>;
}

/** How one provider served one model. */
export interface ServedListing {
  readonly ttftMs: number | null;
  readonly tokensPerSecond: number | null;
}

/** By the id of the model; one without calls is not in it. */
export type ServedModels = ReadonlyMap<string, Served>;

/** The best figure of each model's listings: the provider that a request can ask for. */
export function servedModels(listings: readonly ListingFigures[]): ServedModels {
  const models = new Map<string, Served>();
  for (const listing of listings) {
    const { model, success, ttft_p50_ms: ttftMs, tokens_per_second: speed } = listing;
    const known = models.get(model);
    const own = { ttftMs, tokensPerSecond: speed };
    models.set(model, {
      success: better(known?.success, success, Math.max),
      ttftMs: better(known?.ttftMs, ttftMs, Math.min),
      tokensPerSecond: better(known?.tokensPerSecond, speed, Math.max),
      byProvider: new Map([...(known?.byProvider ?? []), [listing.provider, own]]),
    });
  }
  return models;
}

function better(
  known: number | null | undefined,
  other: number | null,
  best: (a: number, b: number) => number,
): number | null {
  if (known === null || known === undefined) return other;
  return other === null ? known : best(known, other);
}
