import { Type, type Static } from "typebox";

import { PAUSE_REASONS } from "../../../kernel/core/top-up-pauses.ts";
import { Instant, nullable, oneOf, Usd, UsdInput, Fields } from "./shared.ts";

export const TopUpCard = Type.Object({
  brand: Type.String(),
  last4: Type.String(),
  exp_month: Type.Integer(),
  exp_year: Type.Integer(),
});

export const TopUpRule = Type.Object({
  is_on: Type.Boolean(),
  below_usd: Usd,
  amount_usd: Usd,
  month_max_usd: Usd,
});

export const TopUpPause = Type.Object({
  reason: oneOf(...PAUSE_REASONS),
  text: Type.String(),
  since: Instant,
});

export const TopUp = Type.Object({
  /**
   * False if the operator sells no credit or has automatic top-up off; other fields are then empty.
   */
  is_available: Type.Boolean(),
  card: nullable(TopUpCard),
  is_card_pending: Type.Boolean(),
  rule: nullable(TopUpRule),
  pause: nullable(TopUpPause),
  month_spent_usd: Usd,
  has_open_purchase: Type.Boolean(),
  min_usd: Usd,
  max_usd: Usd,
});
export type TopUp = Static<typeof TopUp>;

export const topUpRoutes = {
  "GET /api/console/top-up": {
    summary: "Automatic top-up: the saved card, the rule, and what it has bought this month",
    needs: "read",
    gate: "payments",
    answer: TopUp,
  },
  "PATCH /api/console/top-up": {
    summary: "Sets the rule of automatic top-up; turning it on ends a pause",
    needs: "billing",
    isSetting: true,
    body: Fields({
      is_on: Type.Boolean(),
      below_usd: UsdInput,
      amount_usd: UsdInput,
      month_max_usd: UsdInput,
    }),
    answer: TopUp,
  },
  "POST /api/console/top-up/card": {
    summary: "Starts saving a card without a payment; the browser then opens checkout_url",
    needs: "billing",
    gate: "payments",
    isSetting: true,
    answer: Type.Object({ checkout_url: Type.String() }),
  },
  "POST /api/console/top-up/card/remove": {
    summary: "Removes the saved card and turns automatic top-up off",
    needs: "billing",
    gate: "payments",
    isSetting: true,
    answer: TopUp,
  },
} as const;
