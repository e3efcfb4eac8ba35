import { Type, type Static } from "typebox";

import { Count, Id, Instant, nullable, Fields } from "./shared.ts";

const Share = nullable(Type.Number({ minimum: 0, maximum: 1 }));

/** Null if nothing was measured. */
const FIGURES = {
  /** Successful calls as a share of those that succeeded or that the provider failed. */
  success: Share,
  uptime: Share,
  /** Measured on streamed answers. */
  ttft_p50_ms: nullable(Count),
  ttft_p95_ms: nullable(Count),
  tokens_per_second: nullable(Type.Number({ minimum: 0 })),
} as const;

/** A UTC day or an hour with calls; others are not there. */
export const FiguresAt = Type.Object({ at: Instant, ...FIGURES });
export type FiguresAt = Static<typeof FiguresAt>;

/** The figures of a provider's listing of a model in the last 30 days. */
export const ListingFigures = Type.Object({
  provider: Type.String(),
  model: Type.String(),
  /** Null across organizations. */
  calls: nullable(Count),
  share_of_calls: Type.Number({ minimum: 0, maximum: 1 }),
  ...FIGURES,
  days: Type.Array(FiguresAt),
  /** The last 48 hours; empty for figures across organizations. */
  hours: Type.Array(FiguresAt),
});
export type ListingFigures = Static<typeof ListingFigures>;

/** How all listings of a provider served together, of which no figures of one listing can tell. */
export const ProviderFigures = Type.Omit(ListingFigures, ["model", "calls", "days", "hours"]);
export type ProviderFigures = Static<typeof ProviderFigures>;

const Figured = {
  listings: Type.Array(ListingFigures),
  providers: Type.Array(ProviderFigures),
} as const;

/** The figures of one model or provider come with history. */
const query = Fields({ model: Type.Optional(Id), provider: Type.Optional(Id) });
export type ListingQuery = Static<typeof query>;

export const listingFigureRoutes = {
  "GET /api/console/listing-figures": {
    summary:
      "How listings served the organization's own calls, with history for one model or provider",
    needs: "read",
    query,
    answer: Type.Object({ from: Instant, ...Figured }),
  },
  "GET /api/listing-figures.json": {
    summary: "How listings served all organizations together, where the operator shows it",
    access: "public",
    query,
    answer: Type.Object({ is_shown: Type.Boolean(), ...Figured }),
  },
} as const;
