import { defined, HOUR_SKU_NAME } from "../../kernel/index.ts";
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
import { type Prices, raisedPrices, withMargin } from "./price-text.ts";
import { ceilingBody, headHistory, headParameters, type ProviderHead } from "./provider-heads.ts";

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

/** Context length, in tokens, of a staged listing for which no source states any limit. */
const UNKNOWN_CONTEXT = 4096;

/** Writes a listing and its terms. Undefined if a manifest cannot hold a price with the margin. */
export function writeListing(
  draft: MergedDraft,
  options: WriteOptions,
): WrittenListing | undefined {
  const { head } = options;
  const prices = pricesWith(draft.prices, options.margin);
  const changes = draft.changes.flatMap((change) => {
    const raised = pricesWith(change, options.margin);
    return raised === undefined ? [] : [{ from: change.from, ...raised }];
  });
  if (prices === undefined || changes.length < draft.changes.length) return undefined;
  const { pricing, ...priceTerms } = prices;
  const staged = [
    ...new Set<string>([
      ...draft.stagedBecause,
      ...(draft.contextLength === undefined ? (["no-limit"] satisfies StageCode[]) : []),
      ...options.stagedBecause,
    ]),
  ].slice(0, REASONS_MAX);
  const terms: ManifestListingTerms = defined({
    ...priceTerms,
    price_changes: unlessEmpty(changes),
    body: ceilingBody(head, dearestPricing(draft)),
    history: headHistory(head, draft.upstreamId),
    staged_because: unlessEmpty(staged),
    checked:
      draft.agreedOn === undefined ? undefined : { on: draft.agreedOn, by: "two-sources" as const },
  });
  const model = writeModel(draft, options, { pricing, isStaged: staged.length > 0 });
  return Object.keys(terms).length === 0 ? { model } : { model, terms };
}

const REASONS_MAX = 8;

function unlessEmpty<T>(entries: readonly T[]): readonly T[] | undefined {
  return entries.length === 0 ? undefined : entries;
}

/** Writes the fields in a fixed order, so that equal facts give equal bytes. */
function writeModel(
  draft: MergedDraft,
  options: WriteOptions,
  { pricing, isStaged }: Pick<ManifestModel, "pricing"> & { readonly isStaged: boolean },
): ManifestModel {
  const { abilities, inputs } = draft;
  const kinds = (["image", "file", "audio", "video"] as const).filter((kind) => inputs?.has(kind));
  const resolvesTo = draft.resolvesTo.filter((each) => each !== draft.upstreamId);
  const named = /(?:^|[-_/])(fp8|fp4|int8|int4|bf16)(?=$|[-_])/i.exec(draft.upstreamId)?.[1];
  return defined({
    id: options.id,
    display_name: draft.displayName,
    upstream_id: draft.upstreamId,
    is_ready: isStaged ? false : undefined,
    input_modalities: kinds.length === 0 ? undefined : (["text", ...kinds] as const),
    context_length: draft.contextLength ?? draft.maxOutputTokens ?? UNKNOWN_CONTEXT,
    max_output_tokens: draft.maxOutputTokens,
    quantization: named?.toLowerCase(),
    streaming: true,
    pricing,
    supported_parameters: headParameters(options.head, {
      upstreamId: draft.upstreamId,
      reasons: abilities.reasoning === true,
      tools: abilities.tools === true,
      structured: abilities.structured === true,
      sampling: abilities.sampling !== false,
      ...defined({ efforts: abilities.efforts, maxOutputTokens: draft.maxOutputTokens }),
    }),
    resolves_to: unlessEmpty(resolvesTo),
    capacity: options.withCapacity ? unlessEmpty(writeCapacity(draft)) : undefined,
    released: draft.released,
    deprecation_date: draft.deprecationDate,
  });
}

function writeCapacity({ capacity }: MergedDraft): ManifestCapacity[] {
  const { requestsPerMinute: requests, promptTokensPerMinute: tokens } = capacity ?? {};
  const prompts = { type: "prompt", unit: "token", per: "minute" } as const;
  return [
    ...(requests ? [{ type: "request", per: "minute", value: requests } as const] : []),
    ...(tokens ? [{ ...prompts, value: tokens }] : []),
  ];
}

function pricesWith(prices: DraftPrices, margin: string | undefined): Prices | undefined {
  const own = writePrices(prices);
  if (margin === undefined) return own;
  let fits = true;
  const sold = raisedPrices(own, (price) => {
    const more = withMargin(price, margin);
    if (more === undefined) fits = false;
    return more ?? price;
  });
  return fits ? sold : undefined;
}

function writePrices({ sheet, tiers }: DraftPrices): Prices {
  const writtenTiers = tiers.map((tier): ManifestPriceTier => ({
    above_prompt_tokens: tier.abovePromptTokens,
    pricing: writePricing(tier.sheet),
    ...writeExtra(tier.sheet),
  }));
  return {
    pricing: writePricing(sheet),
    ...(tiers.length > 0 && { price_tiers: writtenTiers }),
    ...writeExtra(sheet),
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

/** Returns the prices of the last tier of the last price change, taken to be the highest. */
function dearestPricing({ prices, changes }: MergedDraft): ManifestPrice[] {
  const last = changes.at(-1) ?? prices;
  return writePricing(last.tiers.at(-1)?.sheet ?? last.sheet);
}
