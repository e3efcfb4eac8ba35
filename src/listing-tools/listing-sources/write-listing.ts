import { HOUR_SKU_NAME } from "../../kernel/index.ts";
import {
  extraPricing,
  MANIFEST_SKUS,
  type ManifestCapacity,
  type ManifestListingTerms,
  type ManifestModel,
  type ManifestPrice,
  type ManifestPriceTier,
  type ManifestTermPrices,
} from "../../catalog/index.ts";
import type { DraftPrices, DraftSheet, StageCode } from "./draft.ts";
import type { MergedDraft } from "./merge-drafts.ts";
import { withMargin } from "./price-text.ts";
import { ceilingBody, headParameters, type ProviderHead } from "./provider-heads.ts";

export interface WrittenListing {
  readonly model: ManifestModel;
  readonly terms?: ManifestListingTerms;
}

export interface WriteOptions {
  readonly id: string;
  readonly head: ProviderHead;
  /** Margin in percent on the source's prices, which then become the purchase prices. */
  readonly margin?: string;
  /** If true, writes the source's rate limits, which are those of one account. */
  readonly withCapacity: boolean;
  readonly stagedBecause: readonly string[];
}

/** Context length, in tokens, of a listing for which no source states one. It is staged. */
const UNKNOWN_CONTEXT = 4096;

/** Writes a listing and its terms. Undefined if a manifest cannot hold a price with the margin. */
export function writeListing(
  draft: MergedDraft,
  options: WriteOptions,
): WrittenListing | undefined {
  const { head, id } = options;
  const prices = pricesWith(draft.prices, options.margin);
  const changes = draft.changes.map((change) => ({
    from: change.from,
    prices: pricesWith(change, options.margin),
  }));
  if (prices === undefined || changes.some((each) => each.prices === undefined)) return undefined;
  const staged = [
    ...new Set<string>([
      ...draft.stagedBecause,
      ...(draft.contextLength === undefined ? (["no-limit"] satisfies StageCode[]) : []),
      ...options.stagedBecause,
    ]),
  ].slice(0, REASONS_MAX);
  const body = ceilingBody(head, dearestPricing(draft));
  const terms: ManifestListingTerms = {
    ...prices.terms,
    ...(changes.length === 0
      ? {}
      : {
          price_changes: changes.flatMap(({ from, prices: each }) =>
            each === undefined ? [] : [{ from, pricing: each.pricing, ...each.terms }],
          ),
        }),
    ...(body === undefined ? {} : { body }),
    ...(staged.length === 0 ? {} : { staged_because: staged }),
    ...(draft.agreedOn === undefined
      ? {}
      : { checked: { on: draft.agreedOn, by: "two-sources" as const } }),
  };
  const model = { ...writeModel(draft, options), pricing: prices.pricing };
  const shown = orderedModel({ ...model, id, ...(staged.length > 0 ? { is_ready: false } : {}) });
  return Object.keys(terms).length === 0 ? { model: shown } : { model: shown, terms };
}

const REASONS_MAX = 8;

function writeModel(
  draft: MergedDraft,
  options: WriteOptions,
): Omit<ManifestModel, "id" | "pricing"> {
  const { abilities, inputs } = draft;
  const kinds = (["image", "file", "audio", "video"] as const).filter((kind) => inputs?.has(kind));
  const resolvesTo = draft.resolvesTo.filter((each) => each !== draft.upstreamId);
  const capacity = options.withCapacity ? writeCapacity(draft) : [];
  return {
    context_length: draft.contextLength ?? draft.maxOutputTokens ?? UNKNOWN_CONTEXT,
    streaming: true,
    supported_parameters: headParameters(options.head, {
      reasons: abilities.reasoning === true,
      tools: abilities.tools === true,
      structured: abilities.structured === true,
      sampling: abilities.sampling !== false,
      ...(abilities.efforts === undefined ? {} : { efforts: abilities.efforts }),
      ...(draft.maxOutputTokens === undefined ? {} : { maxOutputTokens: draft.maxOutputTokens }),
    }),
    upstream_id: draft.upstreamId,
    ...findQuantization(draft.upstreamId),
    ...(draft.displayName === undefined ? {} : { display_name: draft.displayName }),
    ...(kinds.length === 0 ? {} : { input_modalities: ["text", ...kinds] }),
    ...(draft.maxOutputTokens === undefined ? {} : { max_output_tokens: draft.maxOutputTokens }),
    ...(resolvesTo.length === 0 ? {} : { resolves_to: resolvesTo }),
    ...(capacity.length === 0 ? {} : { capacity }),
    ...(draft.released === undefined ? {} : { released: draft.released }),
    ...(draft.deprecationDate === undefined ? {} : { deprecation_date: draft.deprecationDate }),
  };
}

function findQuantization(upstreamId: string): Pick<ManifestModel, "quantization"> {
  const named = /(?:^|[-_/])(fp8|fp4|int8|int4|bf16)(?=$|[-_])/i.exec(upstreamId)?.[1];
  return named === undefined ? {} : { quantization: named.toLowerCase() };
}

const MODEL_FIELDS: readonly (keyof ManifestModel)[] = [
  "id",
  "display_name",
  "description",
  "upstream_id",
  "is_ready",
  "input_modalities",
  "context_length",
  "max_output_tokens",
  "quantization",
  "streaming",
  "pricing",
  "supported_parameters",
  "resolves_to",
  "capacity",
  "released",
  "deprecation_date",
];

/** Writes the fields in a fixed order, so that equal facts give equal bytes. */
function orderedModel(model: ManifestModel): ManifestModel {
  const fields = MODEL_FIELDS.flatMap((field): [string, unknown][] =>
    model[field] === undefined ? [] : [[field, model[field]]],
  );
  return Object.fromEntries(fields) as unknown as ManifestModel;
}

function writeCapacity({ capacity }: MergedDraft): ManifestCapacity[] {
  const { requestsPerMinute: requests, promptTokensPerMinute: tokens } = capacity ?? {};
  return [
    ...(requests === undefined
      ? []
      : [{ type: "request", per: "minute", value: requests } as const]),
    ...(tokens === undefined
      ? []
      : [{ type: "prompt", unit: "token", per: "minute", value: tokens } as const]),
  ];
}

interface WrittenPrices {
  readonly pricing: readonly ManifestPrice[];
  readonly terms: ManifestTermPrices;
}

function pricesWith(prices: DraftPrices, margin: string | undefined): WrittenPrices | undefined {
  const own = writePrices(prices);
  if (margin === undefined) return own;
  const sold = raised(prices, margin);
  if (sold === undefined) return undefined;
  const { pricing, terms } = writePrices(sold);
  const { price_tiers: tiers, extra_pricing: extra } = own.terms;
  return {
    pricing,
    terms: {
      ...terms,
      purchase_pricing: own.pricing,
      ...(tiers === undefined ? {} : { purchase_tiers: tiers }),
      ...(extra === undefined ? {} : { purchase_extra: extra }),
    },
  };
}

function raised(prices: DraftPrices, margin: string): DraftPrices | undefined {
  let fits = true;
  const sheetWith = (sheet: DraftSheet): DraftSheet => {
    const entries = Object.entries(sheet).map(([sku, price]): [string, string] => {
      const more = withMargin(price, margin);
      if (more === undefined) fits = false;
      return [sku, more ?? price];
    });
    return Object.fromEntries(entries) as unknown as DraftSheet;
  };
  const sold = {
    sheet: sheetWith(prices.sheet),
    tiers: prices.tiers.map((tier) => ({ ...tier, sheet: sheetWith(tier.sheet) })),
  };
  return fits ? sold : undefined;
}

function writePrices({ sheet, tiers }: DraftPrices): WrittenPrices {
  return {
    pricing: writePricing(sheet),
    terms: {
      ...(tiers.length === 0
        ? {}
        : {
            price_tiers: tiers.map((tier): ManifestPriceTier => ({
              above_prompt_tokens: tier.abovePromptTokens,
              pricing: writePricing(tier.sheet),
              ...writeExtra(tier.sheet),
            })),
          }),
      ...writeExtra(sheet),
    },
  };
}

function writeExtra(sheet: DraftSheet): Pick<ManifestTermPrices, "extra_pricing"> {
  const hour = sheet[HOUR_SKU_NAME];
  return hour === undefined ? {} : { extra_pricing: extraPricing(() => hour) };
}

function writePricing(sheet: DraftSheet): ManifestPrice[] {
  return MANIFEST_SKUS.flatMap((type) => {
    const price = sheet[type];
    return price === undefined ? [] : [{ type, unit: "token", cost_usd_per_million: price }];
  });
}

/** Returns the highest prices of the listing: those of the last tier of the last price change. */
function dearestPricing({ prices, changes }: MergedDraft): ManifestPrice[] {
  const last = changes.at(-1) ?? prices;
  return writePricing(last.tiers.at(-1)?.sheet ?? last.sheet);
}
