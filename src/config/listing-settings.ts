import { flag, integer, type Setting } from "./setting.ts";

/** What an operator decides about the listings that customers see. */
export interface ListingConfig {
  readonly listingsPublicFigures: boolean;
  readonly staleAfterDays: number;
}

export const LISTING_SETTINGS: { readonly [K in keyof ListingConfig]: Setting<ListingConfig[K]> } =
  {
    listingsPublicFigures: flag(
      "listings.public_figures",
      "Anybody may read how listings served all customers together: uptime, time to first token, speed " +
        "and success rate of whole days, rounded, each day only with 3 organizations and 200 calls, of " +
        "which no organization made more than half. Off: customers see the figures of their own calls.",
    ),
    staleAfterDays: integer(
      "catalog.stale_after_days",
      0,
      0,
      "Listings whose prices no source confirmed for this many days (`checked` in their manifest) are not " +
        "sold. 0: they are, and after 90 days they are tried last.",
    ),
  };
