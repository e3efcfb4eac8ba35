import { type TArray, type TOptional, type TSchema, type TString, Type } from "typebox";
import { costPerMillion, EXTRA_SKUS, pricingSchema } from "./price-schema.ts";
import {
  type Accepted,
  dateText,
  declares,
  integerMax,
  needs,
  oneOf,
  patterns,
  positiveInteger,
  rule,
  urlText,
  when,
} from "./schema-parts.ts";
import { fixedBody, historyRules } from "./wire-profile-schema.ts";

/** Refuses unknown members, because a misspelled term is a price that silently does not apply. */
const CLOSED = { additionalProperties: false } as const;

const [HOUR] = EXTRA_SKUS;

const extraPricing = Type.Object(
  {
    [HOUR]: costPerMillion("Cache writes that are kept for an hour, in USD per million tokens."),
  },
  {
    title: "ExtraPricing",
    description: "Prices of SKUs that `pricing` has no name for. No other properties.",
    ...CLOSED,
  },
);
export type ManifestExtraPricing = Accepted<typeof extraPricing>;

const priceTier = Type.Object(
  {
    above_prompt_tokens: positiveInteger(
      "tier-bound",
      "The tier holds for a whole request, output included, whose prompt, cached and written " +
        "tokens together are above this many.",
    ),
    pricing: pricingSchema,
    extra_pricing: Type.Optional(extraPricing),
  },
  {
    title: "PriceTier",
    description: "Prices by prompt size. No other properties.",
    ...CLOSED,
  },
);
export type ManifestPriceTier = Accepted<typeof priceTier>;

function tiers(description: string): TArray<typeof priceTier> {
  return Type.Array(priceTier, {
    minItems: 1,
    maxItems: 8,
    description,
    ...rule("terms-tiers-count", "must be 1 to 8 tiers"),
  });
}

const prices = {
  price_tiers: Type.Optional(
    tiers("Prices for long prompts, in ascending order. Text listings only."),
  ),
  extra_pricing: Type.Optional(extraPricing),
  purchase_pricing: Type.Optional(pricingSchema),
  purchase_tiers: Type.Optional(
    tiers("What the provider is owed for long prompts; needed where `price_tiers` are."),
  ),
  purchase_extra: Type.Optional(extraPricing),
};

export type ManifestTermPrices = Pick<ManifestPriceChange, keyof typeof prices>;

function purchase(field: string, why: string): TSchema {
  return needs(field, rule("terms-purchase-whole", `must declare ${field}: ${why}`));
}

/**
 * If `purchase_pricing` is declared, all other sale prices need a purchase price too: otherwise the
 * provider would be owed a price that nobody stated.
 */
const PURCHASE_RULES: TSchema[] = [
  when(
    declares("purchase_pricing", "price_tiers"),
    purchase("purchase_tiers", "price_tiers and purchase_pricing are declared"),
  ),
  when(
    declares("purchase_pricing", "extra_pricing"),
    purchase("purchase_extra", "extra_pricing and purchase_pricing are declared"),
  ),
  when(declares("purchase_tiers"), purchase("purchase_pricing", "purchase_tiers are above it")),
  when(declares("purchase_extra"), purchase("purchase_pricing", "purchase_extra is beside it")),
];

const priceChange = Type.Object(
  {
    from: Type.String({
      pattern: patterns.instant,
      description: "When the prices begin, in UTC.",
      ...rule("terms-change-from", "must be an instant written YYYY-MM-DDThh:mm:ssZ"),
    }),
    pricing: pricingSchema,
    ...prices,
  },
  {
    title: "PriceChange",
    description:
      "All prices of the listing from an instant on; what it leaves out ends with " +
      "it. No other properties.",
    allOf: PURCHASE_RULES,
    ...CLOSED,
  },
);
/** All prices of a listing from `from` on. Prices that the change omits end at that instant. */
export type ManifestPriceChange = Accepted<typeof priceChange>;

const checked = Type.Object(
  {
    on: dateText("The day of the check."),
    by: oneOf("terms-checked-by", ["two-sources", "page"], {
      description: "Two sources agreed, or a person read the provider's page.",
    }),
    url: Type.Optional(urlText("What was read.")),
  },
  {
    title: "Checked",
    description: "When the prices were last found to be true. No other properties.",
    ...CLOSED,
  },
);
export type ManifestChecked = Accepted<typeof checked>;

const imageTokensRule = rule(
  "terms-image-tokens",
  "must be an integer greater than 0, or 1 to 64 entries with tokens, size and quality",
);

function imageLabel(description: string): TOptional<TString> {
  return Type.Optional(
    Type.String({ minLength: 1, maxLength: 64, description, ...imageTokensRule }),
  );
}

const imageTokens = Type.Object(
  {
    size: imageLabel("Of images of this size; absent: of any."),
    quality: imageLabel("Of images of this quality; absent: of any."),
    tokens: Type.Integer({
      minimum: 1,
      maximum: integerMax,
      description: "Output tokens of one image.",
      ...imageTokensRule,
    }),
  },
  {
    title: "ImageTokens",
    description: "What an image of a size and a quality counts as. No other properties.",
    ...CLOSED,
  },
);
/** Output tokens of one image. An absent size or quality matches any. */
export type ManifestImageTokens = Accepted<typeof imageTokens>;

const terms = Type.Object(
  {
    ...prices,
    image_tokens: Type.Optional(
      Type.Unsafe<number | readonly ManifestImageTokens[]>({
        type: ["integer", "array"],
        minimum: 1,
        maximum: integerMax,
        minItems: 1,
        maxItems: 64,
        items: imageTokens,
        description:
          "Output tokens of an image, which are billed where an answer reports no usage: one " +
          "number, or entries by size and quality, of which the first that fits counts. " +
          "Image listings only; without it such an image costs nothing.",
        ...imageTokensRule,
      }),
    ),
    price_changes: Type.Optional(
      Type.Array(priceChange, {
        minItems: 1,
        maxItems: 16,
        description: "Announced prices, in ascending order; the last one that has begun counts.",
        ...rule("terms-changes-count", "must be 1 to 16 changes"),
      }),
    ),
    body: Type.Optional(
      fixedBody(
        "Fixed members of this listing's chat requests, in the place of those of `wire_profile`. " +
          "Text listings only.",
      ),
    ),
    history: Type.Optional(
      historyRules(
        "History rules of this listing, beside those of `wire_profile`. Text listings only.",
      ),
    ),
    staged_because: Type.Optional(
      Type.Array(
        Type.String({
          pattern: patterns.stagedBecause,
          description: "A reason.",
          ...rule("terms-staged-because", 'must be 1 to 8 reasons such as "tiered"'),
        }),
        {
          minItems: 1,
          maxItems: 8,
          description: "Why `is_ready` is false.",
          ...rule("terms-staged-because", 'must be 1 to 8 reasons such as "tiered"'),
        },
      ),
    ),
    checked: Type.Optional(checked),
  },
  {
    title: "ListingTerms",
    description: "What the fields of a listing cannot say about its money. No other properties.",
    allOf: PURCHASE_RULES,
    ...CLOSED,
  },
);

export type ManifestListingTerms = Accepted<typeof terms>;

export const listingTermsSchema = Type.Unsafe<Readonly<Record<string, ManifestListingTerms>>>({
  type: "object",
  additionalProperties: terms,
  description: "Model id of this manifest to the terms of its listing.",
});
