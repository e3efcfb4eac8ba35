import { type Static, type TSchema, Type } from "typebox";

import type { CapabilityDescriptor } from "../../catalog/index.ts";
import type { Sku } from "../../core/index.ts";
import {
  Count,
  Instant,
  listOf,
  MaybeInstant,
  MaybeInteger,
  MaybeText,
  nullable,
  oneOf,
  type ReadRoute,
  wholeNumber,
  wordOf,
} from "../../json/index.ts";

/** The longest page of any list. */
export const LIST_ROWS_MAX = 1_000;

const PerToken = Type.String({ description: "decimal dollars a token" });
const OUTPUTS = ["text", "image", "video", "decisions"] as const;
const LOGGING = ["none", "retained"] as const;
const INPUTS = ["text", "image", "file", "audio", "video"] as const;
/** Larger than any context; a number of nine digits is what a query may hold. */
const TOKENS_MAX = 999_999_999;
/** The most values that one list of a query may have. */
const VALUES_MAX = 16;

/** The SKU that is priced under each name. */
export const PRICE_NAMES = {
  prompt: "prompt",
  completion: "completion",
  input_cache_read: "cachedPrompt",
  input_cache_write: "cacheWrite",
  internal_reasoning: "internalReasoning",
  input_cache_write_1h: "cacheWrite1h",
} as const satisfies Readonly<Record<string, Sku>>;

export const Pricing = Type.Object({
  prompt: PerToken,
  completion: PerToken,
  input_cache_read: PerToken,
  input_cache_write: PerToken,
  internal_reasoning: PerToken,
  input_cache_write_1h: Type.Optional(PerToken),
});
export type Pricing = Static<typeof Pricing>;

/** What every token of a request costs whose prompt is above the bound. */
export const PriceTier = Type.Object({ above_prompt_tokens: Type.Integer(), pricing: Pricing });
export type PriceTier = Static<typeof PriceTier>;

const PriceChange = Type.Object({
  from: Instant,
  pricing: Pricing,
  price_tiers: listOf(PriceTier),
});
export type PriceChange = Static<typeof PriceChange>;

const Architecture = Type.Object({
  input_modalities: listOf(Type.String()),
  output_modalities: listOf(oneOf(...OUTPUTS)),
  modality: Type.String(),
});
export type Architecture = Static<typeof Architecture>;

/** What an entry says of its first listing, and of each. */
const listed = {
  price_tiers: listOf(PriceTier),
  price_changes: listOf(PriceChange),
  checked: nullable(
    Type.Object({
      on: Type.String(),
      by: oneOf("two-sources", "page"),
      url: Type.Optional(Type.String()),
    }),
  ),
};

const ListingVerification = Type.Object({
  state: oneOf("verified", "failed", "changed", "expired", "unchecked"),
  checked_at: MaybeInstant,
  failed_checks: listOf(Type.Object({ id: Type.String(), title: Type.String() })),
  suspect_since: MaybeInstant,
});
export type ListingVerification = Static<typeof ListingVerification>;

export const ModelProvider = Type.Object({
  id: Type.String(),
  priority: Type.Integer({ description: "the lower is tried first" }),
  prompt_logging: oneOf(...LOGGING),
  datacenters: listOf(Type.String()),
  capacity: listOf(
    Type.Object({
      type: oneOf("request", "prompt", "completion"),
      per: oneOf("minute", "hour", "day"),
      value: Count,
    }),
  ),
  context_length: MaybeInteger,
  max_completion_tokens: MaybeInteger,
  pricing: nullable(Pricing),
  ...listed,
  verification: ListingVerification,
});

export const Model = Type.Object({
  id: Type.String(),
  object: Type.Literal("model"),
  created: Type.Integer({ description: "Unix seconds" }),
  owned_by: Type.String(),
  name: Type.String(),
  context_length: MaybeInteger,
  architecture: Architecture,
  pricing: Type.Union([Pricing, Type.Null()], {
    description: "of the provider that is tried first",
  }),
  pricing_from: Type.Optional(
    Type.Object(
      { prompt: PerToken, completion: PerToken },
      { description: "the lowest of any provider, where it is below pricing" },
    ),
  ),
  ...listed,
  top_provider: Type.Object({
    context_length: MaybeInteger,
    max_completion_tokens: MaybeInteger,
  }),
  supported_parameters: listOf(Type.String()),
  parameter_descriptors: Type.Unsafe<Readonly<Record<string, CapabilityDescriptor>>>({
    type: "object",
    description: "what each parameter takes",
  }),
  price_card: listOf(
    Type.Object({
      unit: oneOf("token", "image", "second", "megapixel"),
      cost_usd: Type.String(),
      billable: Type.Optional(Type.String()),
      variant: Type.Optional(Type.String()),
    }),
  ),
  quantization: MaybeText,
  decisions_wire: Type.Optional(oneOf("systemone", "gliner")),
  providers: listOf(ModelProvider, { description: "in the order in which they are tried" }),
  expiration_date: MaybeText,
  deprecation_date: MaybeText,
  released: MaybeText,
});
export type Model = Static<typeof Model>;

export const ModelList = Type.Object({ object: Type.Literal("list"), data: listOf(Model) });

export const MessagesModel = Type.Object({
  type: Type.Literal("model"),
  id: Type.String(),
  display_name: Type.String(),
  created_at: Instant,
  architecture: Architecture,
});
export type MessagesModel = Static<typeof MessagesModel>;

export const MessagesModelList = Type.Object({
  data: listOf(MessagesModel),
  has_more: Type.Boolean(),
  first_id: MaybeText,
  last_id: MaybeText,
});

const filters = {
  modality: wordOf(OUTPUTS, "what it produces"),
  input_modality: valuesOf(oneOf(...INPUTS), {
    one: `one or more of ${INPUTS.join(", ")}`,
    description: "comma-separated; each has to be accepted",
  }),
  supported_parameters: valuesOf(Type.String({ pattern: "^[\\w.-]{1,64}$" }), {
    one: "names of parameters with commas between them",
    description: "comma-separated; each has to be supported",
  }),
  provider: Type.String({
    minLength: 1,
    says: "must not be empty",
    description: "id of a provider",
  }),
  prompt_logging: wordOf(LOGGING, "what the provider does with prompts"),
  max_prompt_price: price(),
  max_completion_price: price(),
  min_context: wholeNumber(1, TOKENS_MAX, "tokens"),
  verified: wordOf(["true", "false"], "passed conformance checks"),
  deprecated: wordOf(["true", "false"], "has an announced end"),
  sort: wordOf(
    ["newest", "name", "context", "prompt_price", "completion_price"],
    "default `newest`",
  ),
};

function valuesOf<T extends TSchema>(
  value: T,
  { one, description }: { readonly one: string; readonly description: string },
) {
  const entry = { ...value, says: `cannot be {value}; it is ${one}` } as T;
  const says = `may have ${VALUES_MAX} values at most`;
  return Type.Unsafe<readonly Static<T>[]>(
    Type.Array(entry, { maxItems: VALUES_MAX, description, says }),
  );
}

function price() {
  return Type.String({
    pattern: "^\\d{1,7}(\\.\\d{1,6})?$",
    description: "dollars per million tokens",
    says: "must be US dollars per million tokens such as 0.50, not {value}",
  });
}

export const ModelFilters = Type.Partial(Type.Object(filters));
export type ModelFilters = Static<typeof ModelFilters>;

/** A page of ids after or before a known one. */
export const ModelPage = Type.Partial(
  Type.Object({
    limit: wholeNumber(1, LIST_ROWS_MAX, "with `anthropic-version` only"),
    after_id: Type.String({ description: "with `anthropic-version` only" }),
    before_id: Type.String({ description: "with `anthropic-version` only" }),
  }),
);
export type ModelPage = Static<typeof ModelPage>;

export const modelRoutes = {
  "GET /v1/models": {
    summary: "List models",
    description: "A model fits if one of its providers fits all filters of providers.",
    tag: "Models",
    query: Type.Object({ ...ModelFilters.properties, ...ModelPage.properties }),
    answer: Type.Union([ModelList, MessagesModelList]),
  },
  "GET /v1/models/{id}": {
    summary: "One model",
    tag: "Models",
    answer: Type.Union([Model, MessagesModel]),
  },
} as const satisfies Readonly<Record<string, ReadRoute>>;
