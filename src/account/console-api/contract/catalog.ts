import { type Static, Type } from "typebox";

import {
  BySku,
  Count,
  Fields,
  Id,
  Instant,
  List,
  nullable,
  oneOf,
  reads,
  Tokens,
  Usd,
} from "./shared.ts";

export const Descriptor = Type.Object({
  type: oneOf("boolean", "range", "integer", "enum", "unknown"),
  min: Type.Optional(Type.Number()),
  max: Type.Optional(Type.Number()),
  default: Type.Optional(Type.Union([Type.Number(), Type.String()])),
  unit: Type.Optional(Type.String()),
  values: Type.Optional(List(Type.String())),
});
export type Descriptor = Static<typeof Descriptor>;

/**
 * Dollars per million tokens. A price that the listing does not set equals its prompt or completion
 * price; an unset `cache_write_1h` equals `cache_write`.
 */
export const PricesPerMillion = BySku(Type.String());
export type PricesPerMillion = Static<typeof PricesPerMillion>;

export const PriceCardLine = Type.Object({
  unit: oneOf("token", "image", "second", "megapixel"),
  cost_usd: Type.String(),
  billable: nullable(Type.String()),
  variant: nullable(Type.String()),
});

/** For prompts above `above_prompt_tokens`, the prices of all tokens of the request, output too. */
export const PriceTier = Type.Object({
  above_prompt_tokens: Count,
  prices: PricesPerMillion,
});
export type PriceTier = Static<typeof PriceTier>;

export const PriceChange = Type.Object({
  from: Type.String(),
  prices: PricesPerMillion,
  price_tiers: Type.Array(PriceTier),
});
export type PriceChange = Static<typeof PriceChange>;

/** One provider's listing of a model; a model's listings are in routing order. */
export const ModelProvider = Type.Object({
  provider: Type.String(),
  name: Type.String(),
  priority: Count,
  prompt_logging: oneOf("none", "retained"),
  datacenters: Type.Array(Type.String()),
  prices: nullable(PricesPerMillion),
  defaulted: Type.Array(Type.String()),
  price_tiers: Type.Array(PriceTier),
  price_changes: Type.Array(PriceChange),
  checked: nullable(
    Type.Object({
      on: Type.String(),
      by: oneOf("two-sources", "page"),
      url: nullable(Type.String()),
      /** `late`: checked over 45 days ago; `old`: over 90 days ago, so it is tried last. */
      age: oneOf("recent", "late", "old"),
    }),
  ),
  price_card: Type.Array(PriceCardLine),
  billing: oneOf("token", "reported_cost"),
  context_length: nullable(Count),
  max_output_tokens: nullable(Count),
  quantization: nullable(Type.String()),
  parameters: Type.Record(Type.String(), Descriptor),
  capacity: Type.Array(Type.Object({ type: Type.String(), per: Type.String(), value: Count })),
});
export type ModelProvider = Static<typeof ModelProvider>;

export const Model = Type.Object({
  id: Type.String(),
  name: Type.String(),
  description: Type.String(),
  modality: oneOf("text", "image", "video", "decisions"),
  route: Type.String(),
  input_modalities: Type.Array(Type.String()),
  context_length: nullable(Count),
  max_output_tokens: nullable(Count),
  decisions_wire: nullable(oneOf("systemone", "gliner")),
  released: nullable(Type.String()),
  deprecation_date: nullable(Type.String()),
  parameters: Type.Record(Type.String(), Descriptor),
  providers: Type.Array(ModelProvider),
});
export type Model = Static<typeof Model>;

export const Provider = Type.Object({
  id: Type.String(),
  name: Type.String(),
  privacy_policy_url: Type.String(),
  terms_of_service_url: nullable(Type.String()),
  status_page_url: nullable(Type.String()),
  prompt_logging: oneOf("none", "retained"),
  datacenters: Type.Array(Type.String()),
  models: Type.Array(Type.String()),
  /** The provider's health as this instance sees it now. */
  status: oneOf("healthy", "cooling", "open"),
  /**
   * The share of all customers' calls that succeeded, read once an hour. Null if the operator does
   * not publish such figures, if there were fewer than 200 calls or 3 organizations, or if one
   * organization made more than half of the calls.
   */
  success_24h: nullable(Type.Number()),
  ttft_p50_ms: nullable(Count),
  /**
   * Models whose answers of the last 24 hours were reported to come from another model. They are
   * always listed, but `share_24h` is null if it fails the conditions of `success_24h`.
   */
  substitutions: Type.Array(
    Type.Object({
      model: Type.String(),
      served_model: Type.String(),
      share_24h: nullable(Type.Number({ minimum: 0, maximum: 1 })),
    }),
  ),
});
export type Provider = Static<typeof Provider>;

/**
 * Models with the newest `released` date come first, those without a date last; equal ones are
 * sorted by name. Contains no private or staged listing.
 */
export const Catalog = Type.Object({ models: Type.Array(Model) });
export type Catalog = Static<typeof Catalog>;

/** Limits the work for an anonymous visitor; a larger manifest is checked with the command. */
const MANIFEST_CHARS_MAX = 65_536;

export const catalogRoutes = {
  "GET /api/models.json": {
    summary: "Model ids, for scripts",
    access: "public",
    answer: Type.Object({ models: Type.Array(Type.String()) }),
  },
  "GET /api/catalog.json": {
    summary: "Models with their providers, prices and limits",
    access: "public",
    answer: Catalog,
  },
  "POST /api/manifest-check": {
    summary:
      "What the validator says of a manifest; nothing is asked elsewhere, and nothing is kept",
    access: "public",
    body: Fields({
      manifest: Type.String({
        minLength: 1,
        maxLength: MANIFEST_CHARS_MAX,
        description: "the text of a manifest, at most 65536 characters",
      }),
    }),
    answer: Type.Object({
      listings: nullable(Count),
      problems: Type.Array(
        Type.Object({ pointer: Type.String(), rule: Type.String(), message: Type.String() }),
      ),
      found: Count,
    }),
  },
  "GET /api/providers.json": {
    summary: "Providers of public listings with their health",
    access: "public",
    answer: Type.Object({ providers: Type.Array(Provider) }),
  },
} as const;

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

/** The cost of all chat tokens of the organization at this listing's present prices. */
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
  /** If true, requests with the organization's own provider keys are left out. */
  is_by_request: Type.Boolean(),
  traffic: Type.Object({
    /** Requests that used tokens. If `is_by_request`, each of their attempts counts as one. */
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

export const priceRoutes = {
  "GET /api/console/model-costs": {
    summary: "What the organization's last 30 days would have cost with up to four models",
    ...reads,
    query: Fields({
      models: Type.String({ minLength: 1, maxLength: 600 }),
      of: Type.Optional(Id),
    }),
    answer: ModelCosts,
  },
  "GET /api/console/price-changes": {
    summary: "Announced price changes of models that the organization used in the last 30 days",
    needs: "read",
    gate: "none",
    answer: PriceChanges,
  },
} as const;
