import { Type, type Static } from "typebox";

import { Count, Id, Instant, nullable, oneOf, Tokens, Usd, Fields } from "./shared.ts";

/** The cost of the organization's chat tokens at one provider's listing, at its present prices. */
export const ListingCost = Type.Object({
  provider: Type.String(),
  name: Type.String(),
  cost_usd: nullable(Usd),
  is_at_least: Type.Boolean(),
  too_long: nullable(Count),
});
export type ListingCost = Static<typeof ListingCost>;

export const ComparedModel = Type.Object({
  model: Type.String(),
  name: Type.String(),
  obstacle: nullable(oneOf("not_listed", "modality")),
  listings: Type.Array(ListingCost),
  may_lack: Type.Array(
    Type.Object({ model: Type.String(), parts: Type.Array(Type.String()), requests: Count }),
  ),
});
export type ComparedModel = Static<typeof ComparedModel>;

export const ModelCosts = Type.Object({
  from: Instant,
  to: Instant,
  /**
   * True if each request was priced by its own size. Requests with the organization's own provider
   * keys are then left out.
   */
  is_by_request: Type.Boolean(),
  traffic: Type.Object({
    /** Requests that used tokens; a request tried at several providers counts once for each. */
    requests: Count,
    spent_usd: Usd,
    tokens: Tokens,
    models: Type.Array(Type.Object({ model: Type.String(), requests: Count, spent_usd: Usd })),
  }),
  not_counted: Type.Array(
    Type.Object({
      model: Type.String(),
      requests: Count,
      reason: oneOf("modality", "unlisted", "too_many", "own_key"),
    }),
  ),
  models: Type.Array(ComparedModel),
});
export type ModelCosts = Static<typeof ModelCosts>;

export const modelCostRoutes = {
  "GET /api/console/model-costs": {
    summary: "What the organization's last 30 days would have cost with up to four models",
    needs: "read",
    gate: "reads",
    query: Fields({
      models: Type.String({ minLength: 1, maxLength: 600 }),
      of: Type.Optional(Id),
    }),
    answer: ModelCosts,
  },
} as const;
