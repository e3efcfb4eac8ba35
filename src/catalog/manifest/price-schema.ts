import { Type, type TSchema, type TOptional, type TString } from "typebox";
import { type Accepted, has, oneOf, patterns, rule } from "./schema-parts.ts";

/** The SKUs that `pricing` can have, in the order in which a manifest is written. */
export const MANIFEST_SKUS = [
  "prompt",
  "cached_prompt",
  "cache_write",
  "completion",
  "internal_reasoning",
] as const;
export type ManifestSku = (typeof MANIFEST_SKUS)[number];

/** SKUs that `pricing` cannot have: a manifest prices them in `listing_terms.extra_pricing`. */
export const EXTRA_SKUS = ["cache_write_1h"] as const;

export const BILLED_SKUS = [
  "prompt",
  "cached_prompt",
  "cache_write",
  "cache_write_1h",
  "completion",
  "internal_reasoning",
] as const;
export type BilledSku = (typeof BILLED_SKUS)[number];

export function costPerMillion(description: string): TString {
  return Type.String({
    pattern: patterns.costPerMillion,
    description,
    ...rule(
      "price-decimals",
      "must be a string of 1 to 7 digits and at most 6 fraction digits, " +
        'such as "0.15"; never a number',
    ),
  });
}

const price = Type.Object(
  {
    type: oneOf("price-type", [...MANIFEST_SKUS], { description: "The SKU that is priced." }),
    unit: Type.Literal("token", {
      description: "Always `token`.",
      ...rule("price-unit", 'must be "token"'),
    }),
    cost_usd_per_million: costPerMillion("USD per million tokens, as a decimal string."),
  },
  { title: "PricingEntry", description: "The price of one SKU." },
);
export type ManifestPrice = Accepted<typeof price>;

function exactlyOne(sku: string): TSchema {
  return {
    contains: has("type", sku),
    maxContains: 1,
    ...rule(`pricing-${sku}`, `must have exactly one entry of type "${sku}"`),
  };
}

function atMostOne(sku: string): TSchema {
  return {
    contains: has("type", sku),
    minContains: 0,
    maxContains: 1,
    ...rule("pricing-duplicate", `must not price "${sku}" more than once`),
  };
}

export const pricingSchema = Type.Array(price, {
  minItems: 2,
  allOf: [
    exactlyOne("prompt"),
    exactlyOne("completion"),
    ...["cached_prompt", "cache_write", "internal_reasoning"].map(atMostOne),
  ],
  description:
    "Prices per SKU. An absent `cached_prompt` or `cache_write` costs what `prompt` costs, an " +
    "absent `internal_reasoning` what `completion` costs; declare `0` only for a free SKU.",
  ...rule("pricing-count", "must have at least two entries: prompt and completion"),
});

function label(description: string): TOptional<TString> {
  const note = rule("price-card-label", "must be a string of 1 to 64 characters");
  return Type.Optional(Type.String({ minLength: 1, maxLength: 64, description, ...note }));
}

const priceCardLine = Type.Object(
  {
    unit: oneOf("price-card-unit", ["token", "image", "second", "megapixel"], {
      description: "What is counted.",
    }),
    cost_usd: Type.String({
      pattern: patterns.costPerUnit,
      description: "USD per unit, as a decimal string.",
      ...rule(
        "price-card-decimals",
        "must be a string of 1 to 6 digits and at most 9 fraction digits, " +
          'such as "0.04"; never a number',
      ),
    }),
    billable: label("What the line bills."),
    variant: label("The tier it applies to."),
  },
  {
    title: "PriceCardLine",
    description: "One line of the price card. No other properties.",
    additionalProperties: false,
  },
);

export type ManifestPriceCardLine = Accepted<typeof priceCardLine>;

export const priceCardSchema = Type.Array(priceCardLine, {
  minItems: 1,
  description: "Price per unit as shown to buyers; display only. `reported_cost` needs it.",
  ...rule("price-card-count", "must have at least one line"),
});
