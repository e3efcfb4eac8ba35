import { Type, type Static } from "typebox";

import { Count, Id, Instant, nullable, Fields } from "./shared.ts";

const Share = nullable(Type.Number({ minimum: 0, maximum: 1 }));

/** A figure is null if nothing was measured. */
const FIGURES = {
  /** Successful calls divided by the calls that succeeded or that the provider failed. */
  success: Share,
  uptime: Share,
  /** Time to the first token, measured on streamed answers. */
  ttft_p50_ms: nullable(Count),
  ttft_p95_ms: nullable(Count),
  tokens_per_second: nullable(Type.Number({ minimum: 0 })),
} as const;

/** `at` is the start of a UTC day or hour. Days and hours without calls have no entry. */
export const FiguresAt = Type.Object({ at: Instant, ...FIGURES });
export type FiguresAt = Static<typeof FiguresAt>;

export const ListingFigures = Type.Object({
  provider: Type.String(),
  model: Type.String(),
  calls: nullable(Count),
  share_of_calls: Type.Number({ minimum: 0, maximum: 1 }),
  ...FIGURES,
  days: Type.Array(FiguresAt),
  /** The last 48 hours; empty for figures across organizations. */
  hours: Type.Array(FiguresAt),
});
export type ListingFigures = Static<typeof ListingFigures>;

/**
 * The figures of all listings of a provider together, which cannot be computed from the figures of
 * the single listings.
 */
export const ProviderFigures = Type.Omit(ListingFigures, ["model", "calls", "days", "hours"]);
export type ProviderFigures = Static<typeof ProviderFigures>;

const Figured = {
  listings: Type.Array(ListingFigures),
  providers: Type.Array(ProviderFigures),
} as const;

/** An answer includes `days` and `hours` only if the query names a model or a provider. */
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
