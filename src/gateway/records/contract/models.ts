import { type Static, type TSchema, Type } from "typebox";

import {
  type CapabilityDescriptor,
  comingPrices,
  type DatedPrices,
  type Deployment,
  describeModel,
  type ListedModel,
  type PriceTier,
} from "../../../catalog/index.ts";
import {
  instant,
  instantOrNull,
  Count,
  type DefineField,
  Instant,
  List,
  MaybeInstant,
  MaybeInteger,
  MaybeText,
  nullable,
  oneOf,
  OUTPUT_TOKENS_MAX,
  type ReadRoute,
  shape,
  Whole,
  Word,
} from "../../../kernel/index.ts";
import {
  type ListingVerification,
  overbilledPercent,
  type Verification,
} from "../../verification/verification.ts";
import { PerToken, Pricing, showPrices, usdPerToken } from "./prices.ts";

export type Verdicts = Pick<Verification, "of">;

export const LIST_ROWS_MAX = 1_000;

const OUTPUTS = ["text", "image", "video", "decisions"] as const;
const LOGGING = ["none", "retained"] as const;
const INPUTS = ["text", "image", "file", "audio", "video"] as const;
/** The most tokens that a filter may name; a number in a query has at most nine digits. */
const TOKENS_MAX = 999_999_999;
const VALUES_MAX = 16;

/** The prices of all tokens of a request whose prompt is above `above_prompt_tokens`. */
export const priceTier = shape((is: DefineField<PriceTier>) => ({
  above_prompt_tokens: is(Type.Integer(), (tier) => tier.abovePromptTokens),
  pricing: is(Pricing, ({ prices }) => showPrices(prices)),
}));

const priceChange = shape((is: DefineField<DatedPrices>) => ({
  from: is(Instant, ({ fromMs }) => instant(fromMs)),
  pricing: is(Pricing, ({ prices }) => showPrices(prices)),
  price_tiers: is(List(priceTier.schema), ({ prices }) => prices.tiers?.map(priceTier.show) ?? []),
}));

const Checked = nullable(
  Type.Object({
    on: Type.String(),
    by: oneOf("two-sources", "page"),
    url: Type.Optional(Type.String()),
    age: oneOf("recent", "late", "old"),
  }),
);

type FindListing<R> = (record: R) => Deployment | undefined;

function defineListingPrices<R>(is: DefineField<R>, of: FindListing<R>) {
  return {
    price_tiers: is(
      List(priceTier.schema),
      (each) => of(each)?.prices?.tiers?.map(priceTier.show) ?? [],
    ),
    price_changes: is(List(priceChange.schema), (each) => {
      const listing = of(each);
      return listing === undefined ? [] : comingPrices(listing).map(priceChange.show);
    }),
    checked: is(Checked, (each) => showCheck(of(each)?.checked)),
  };
}

function showCheck(checked: Deployment["checked"]): Static<typeof Checked> {
  if (checked === undefined) return null;
  const { ageUntilMs: _until, ...shown } = checked;
  return shown;
}

function defineListingBounds<R>(is: DefineField<R>, of: FindListing<R>) {
  return {
    context_length: is(MaybeInteger, (each) => of(each)?.contextLength ?? null),
    max_completion_tokens: is(MaybeInteger, (each) => of(each)?.maxOutputTokens ?? null),
  };
}

function showListingPrices(listing: Deployment | undefined): Static<typeof Pricing> | null {
  return listing?.prices == null ? null : showPrices(listing.prices);
}

const FailedCheck = Type.Object({ id: Type.String(), title: Type.String() });

const State = oneOf("verified", "verified_in_part", "failed", "changed", "expired", "unchecked");

const verification = shape((is: DefineField<ListingVerification>) => ({
  state: is(State, ({ state }) => state),
  checked_at: is(MaybeInstant, ({ verdict }) => instantOrNull(verdict?.checkedAtMs)),
  failed_checks: is(List(FailedCheck), (of) => checksThat(of, "fail")),
  warned_checks: is(List(FailedCheck), (of) => checksThat(of, "warn")),
  overbilled_percent: is(nullable(Type.Integer()), ({ verdict }) => overbilledPercent(verdict)),
  suspect_since: is(MaybeInstant, ({ suspect }) => instantOrNull(suspect?.sinceMs)),
}));

function checksThat(
  { verdict }: ListingVerification,
  ended: "fail" | "warn",
): Static<typeof FailedCheck>[] {
  const checks = (verdict?.checks ?? []).filter(({ status }) => status === ended);
  return checks.map(({ id, title }) => ({ id, title }));
}

const Capacity = Type.Object({
  type: oneOf("request", "prompt", "completion"),
  per: oneOf("minute", "hour", "day"),
  value: Count,
});

type Judged<L> = L & { readonly verdicts: Verdicts };

export const modelProvider = shape((is: DefineField<Judged<{ listing: Deployment }>>) => ({
  id: is(Type.String(), ({ listing }) => listing.providerId),
  priority: is(
    Type.Integer({ description: "the lower is tried first" }),
    ({ listing }) => listing.priority,
  ),
  prompt_logging: is(oneOf(...LOGGING), ({ listing }) => listing.promptLogging),
  datacenters: is(List(Type.String()), ({ listing }) => listing.datacenters),
  capacity: is(List(Capacity), ({ listing }) => listing.capacity),
  ...defineListingBounds(is, ({ listing }) => listing),
  pricing: is(nullable(Pricing), ({ listing }) => showListingPrices(listing)),
  ...defineListingPrices(is, ({ listing }) => listing),
  verification: is(verification.schema, ({ listing, verdicts }) =>
    verification.show(verdicts.of(listing)),
  ),
}));

const architecture = shape((is: DefineField<ListedModel>) => ({
  input_modalities: is(List(Type.String()), (model) => model.inputModalities),
  output_modalities: is(List(oneOf(...OUTPUTS)), (model) => [model.modality]),
  modality: is(
    Type.String(),
    ({ inputModalities, modality }) => `${inputModalities.join("+")}->${modality}`,
  ),
}));

const topProvider = shape((is: DefineField<ListedModel>) =>
  defineListingBounds(is, findFirstListing),
);

const priceLine = shape((is: DefineField<ListedModel["priceCard"][number]>) => ({
  unit: is(oneOf("token", "image", "second", "megapixel"), ({ unit }) => unit),
  cost_usd: is(Type.String(), ({ costUsd }) => costUsd),
  billable: is(Type.Optional(Type.String()), ({ billable }) => billable),
  variant: is(Type.Optional(Type.String()), ({ variant }) => variant),
}));

const Descriptors = Type.Unsafe<Readonly<Record<string, CapabilityDescriptor>>>({
  type: "object",
  description: "what each parameter takes",
});

const FirstPricing = Type.Union([Pricing, Type.Null()], {
  description: "of the provider that is tried first",
});

const LowestPricing = Type.Object(
  { prompt: PerToken, completion: PerToken },
  { description: "the lowest of any provider, where it is below pricing" },
);

export const modelEntry = shape((is: DefineField<Judged<{ model: ListedModel }>>) => ({
  id: is(Type.String(), ({ model }) => model.id),
  object: is(Type.Literal("model"), () => "model" as const),
  created: is(Type.Integer({ description: "Unix seconds" }), ({ model }) =>
    countCreatedSeconds(model),
  ),
  owned_by: is(Type.String(), ({ model }) => findFirstListing(model)?.providerId ?? ""),
  name: is(Type.String(), ({ model }) => model.displayName),
  description: is(Type.String(), ({ model }) => describeModel(model)),
  context_length: is(MaybeInteger, ({ model }) => model.contextLength ?? null),
  architecture: is(architecture.schema, ({ model }) => architecture.show(model)),
  pricing: is(FirstPricing, ({ model }) => showListingPrices(findFirstListing(model))),
  pricing_from: is(Type.Optional(LowestPricing), ({ model }) => findLowestPricing(model)),
  ...defineListingPrices(is, ({ model }) => findFirstListing(model)),
  top_provider: is(topProvider.schema, ({ model }) => topProvider.show(model)),
  supported_parameters: is(List(Type.String()), ({ model }) => [
    ...model.supportedParameters.keys(),
  ]),
  parameter_descriptors: is(Descriptors, ({ model }) =>
    Object.fromEntries(model.supportedParameters),
  ),
  price_card: is(List(priceLine.schema), ({ model }) => model.priceCard.map(priceLine.show)),
  quantization: is(MaybeText, ({ model }) => model.quantization ?? null),
  decisions_wire: is(
    Type.Optional(oneOf("systemone", "gliner")),
    ({ model }) => model.decisionsWire,
  ),
  providers: is(
    List(modelProvider.schema, { description: "in the order in which they are tried" }),
    ({ model, verdicts }) =>
      model.deployments.map((listing) => modelProvider.show({ listing, verdicts })),
  ),
  expiration_date: is(MaybeText, ({ model }) => model.deprecationDate ?? null),
  deprecation_date: is(MaybeText, ({ model }) => model.deprecationDate ?? null),
  released: is(MaybeText, ({ model }) => model.released ?? null),
}));

function findFirstListing(model: ListedModel): Deployment | undefined {
  return model.deployments[0];
}

/** Returns the release day in Unix seconds; 2025-01-01 for a model without one. */
function countCreatedSeconds(model: ListedModel): number {
  return Date.parse(`${model.released ?? "2025-01-01"}T00:00:00Z`) / 1000;
}

function findLowestPricing({
  deployments: [first, ...others],
}: ListedModel): Static<typeof LowestPricing> | undefined {
  if (first?.prices == null || first.billing === "reported_cost") return undefined;
  const sheets = others.flatMap(({ prices, billing }) =>
    billing === "token" ? (prices ?? []) : [],
  );
  const lowest = (sku: "prompt" | "completion", own: bigint): bigint =>
    sheets.reduce((low, sheet) => (sheet[sku] < low ? sheet[sku] : low), own);
  const { prompt, completion } = first.prices;
  const from = { prompt: lowest("prompt", prompt), completion: lowest("completion", completion) };
  if (from.prompt === prompt && from.completion === completion) return undefined;
  return { prompt: usdPerToken(from.prompt), completion: usdPerToken(from.completion) };
}

const DAY_MS = 86_400_000;

/** One model in the Messages format (wire_b), with every field of the official client's type. */
export const messagesModel = shape((is: DefineField<ListedModel>) => ({
  type: is(Type.Literal("model"), () => "model" as const),
  id: is(Type.String(), (model) => model.id),
  display_name: is(Type.String(), (model) => model.displayName),
  created_at: is(Instant, (model) => wholeSeconds(countCreatedSeconds(model) * 1000)),
  lifecycle: is(oneOf("active", "deprecated"), ({ deprecationDate }) =>
    deprecationDate === undefined ? "active" : "deprecated",
  ),
  deprecated_at: is(Type.Null(), () => null),
  // A model is still served on its last day.
  retires_at: is(MaybeInstant, ({ deprecationDate: day }) =>
    day === undefined ? null : wholeSeconds(Date.parse(`${day}T00:00:00Z`) + DAY_MS),
  ),
  max_input_tokens: is(MaybeInteger, ({ contextLength }) => contextLength ?? null),
  max_tokens: is(MaybeInteger, ({ modality, maxOutputTokens = OUTPUT_TOKENS_MAX }) =>
    modality === "text" ? Math.min(maxOutputTokens, OUTPUT_TOKENS_MAX) : null,
  ),
  capabilities: is(Type.Null(), () => null),
  line: is(Type.Null(), () => null),
  architecture: is(architecture.schema, architecture.show),
}));

function wholeSeconds(atMs: number): string {
  return instant(atMs).replace(".000Z", "Z");
}

export const ModelList = Type.Object({
  object: Type.Literal("list"),
  data: List(modelEntry.schema),
});

export const MessagesModelList = Type.Object({
  data: List(messagesModel.schema),
  has_more: Type.Boolean(),
  first_id: MaybeText,
  last_id: MaybeText,
});

const filters = {
  modality: Word(OUTPUTS, "what it produces"),
  input_modality: Values(oneOf(...INPUTS), {
    one: `one or more of ${INPUTS.join(", ")}`,
    description: "comma-separated; each has to be accepted",
  }),
  supported_parameters: Values(Type.String({ pattern: "^[\\w.-]{1,64}$" }), {
    one: "names of parameters with commas between them",
    description: "comma-separated; each has to be supported",
  }),
  provider: Type.String({
    minLength: 1,
    says: "must not be empty",
    description: "id of a provider",
  }),
  prompt_logging: Word(LOGGING, "what the provider does with prompts"),
  max_prompt_price: price(),
  max_completion_price: price(),
  min_context: Whole(1, TOKENS_MAX, "tokens"),
  verified: Word(["true", "false"], "passed conformance checks"),
  deprecated: Word(["true", "false"], "has an announced end"),
  sort: Word(["newest", "name", "context", "prompt_price", "completion_price"], "default `newest`"),
};

function Values<T extends TSchema>(
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

export const ModelPage = Type.Partial(
  Type.Object({
    limit: Whole(1, LIST_ROWS_MAX, "with `anthropic-version` only"),
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
    answer: Type.Union([modelEntry.schema, messagesModel.schema]),
  },
} as const satisfies Readonly<Record<string, ReadRoute>>;
