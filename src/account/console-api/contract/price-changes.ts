import { Type, type Static } from "typebox";

import { PricesPerMillion, PriceTier } from "./catalog.ts";
import { Count, Id, Instant, Usd } from "./shared.ts";

const Prices = Type.Object({
  prices: PricesPerMillion,
  price_tiers: Type.Array(PriceTier),
});

export const PriceNotice = Type.Object({
  notice_id: Id,
  model: Type.String(),
  name: Type.String(),
  provider: Type.String(),
  provider_name: Type.String(),
  from: Instant,
  old: Prices,
  new: Prices,
  is_rise: Type.Boolean(),
  /** The organization's requests of the model at this provider in the last 30 days. */
  requests: Count,
  cost_old_usd: Usd,
  cost_new_usd: Usd,
  is_at_least: Type.Boolean(),
});
export type PriceNotice = Static<typeof PriceNotice>;

export const PriceChanges = Type.Object({
  data: Type.Array(PriceNotice),
});
export type PriceChanges = Static<typeof PriceChanges>;

export const priceChangeRoutes = {
  "GET /api/console/price-changes": {
    summary: "Announced price changes of models that the organization used in the last 30 days",
    needs: "read",
    answer: PriceChanges,
  },
} as const;
