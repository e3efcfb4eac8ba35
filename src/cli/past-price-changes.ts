import type { Manifest } from "../catalog/index.ts";

/**
 * The announced price changes of a manifest whose day has come. They are charged already; written
 * into `pricing`, the file says what a reader takes from it.
 */
export function pastPriceChanges(manifest: Manifest, nowMs: number): readonly PastChange[] {
  return Object.entries(manifest.listing_terms ?? {}).flatMap(([model, terms]) =>
    (terms.price_changes ?? []).flatMap(({ from }, at) =>
      Date.parse(from) > nowMs
        ? []
        : [
            {
              pointer: `/listing_terms/${model.replaceAll("~", "~0").replaceAll("/", "~1")}/price_changes/${at}`,
              message: `in force since ${from}; write its prices into pricing and remove it`,
            },
          ],
    ),
  );
}

export interface PastChange {
  readonly pointer: string;
  readonly message: string;
}
