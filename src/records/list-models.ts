import {
  comingPrices,
  type DatedPrices,
  type Deployment,
  describeModel,
  type ListedModel,
  type PriceSheet,
  type PriceTier,
} from "../catalog/index.ts";
import { instant, listPieces } from "../core/index.ts";
import type { ListingVerification, Verification } from "../verification/index.ts";

/** Query of the wire_b list: a page of ids after or before a known one. */
export interface ModelPageQuery {
  readonly limit?: number;
  readonly afterId?: string;
  readonly beforeId?: string;
}

const OUTPUT_OF: Readonly<Record<ListedModel["modality"], string>> = {
  text: "text",
  image: "image",
  video: "video",
  decisions: "decisions",
};

/** What is known of listings by conformance runs and live answers. */
export type Verdicts = Pick<Verification, "of">;

/** `GET /v1/models` in the wire_a shape, as JSON in pieces. */
export function modelListA(
  models: readonly ListedModel[],
  verdicts: Verdicts,
): Promise<readonly Buffer[]> {
  const frame = { before: '{"object":"list","data":[', after: "]}" };
  return listPieces(models, (model) => entryText(model, verdicts), frame);
}

interface KeptEntry {
  readonly seen: string;
  readonly text: string;
}

// Weak: a swapped catalog takes its entries with it.
const keptEntries = new WeakMap<ListedModel, KeptEntry>();

/** Made again only when another verdict has been given: any client may ask for the list. */
function entryText(model: ListedModel, verdicts: Verdicts): string {
  const seen = model.deployments.map((each) => verdictText(verdicts.of(each))).join();
  const kept = keptEntries.get(model);
  if (kept?.seen === seen) return kept.text;
  const text = JSON.stringify(modelEntryA(model, verdicts));
  keptEntries.set(model, { seen, text });
  return text;
}

function verdictText({ state, verdict, suspect }: ListingVerification): string {
  return `${state} ${verdict?.checkedAtMs ?? ""} ${suspect?.sinceMs ?? ""}`;
}

/** One entry of the wire_a list, and the answer of `GET /v1/models/{id}`. */
export function modelEntryA(model: ListedModel, verdicts: Verdicts): object {
  const first = model.deployments[0];
  return {
    id: model.id,
    object: "model",
    created: createdSeconds(model),
    owned_by: first?.providerId ?? "",
    name: model.displayName,
    description: describeModel(model),
    context_length: model.contextLength ?? null,
    architecture: architectureOf(model),
    pricing: first === undefined ? null : pricingOf(first),
    ...lowestPricing(model),
    price_tiers: first?.prices?.tiers?.map(shownTier) ?? [],
    price_changes: first === undefined ? [] : comingPrices(first).map(shownChange),
    checked: shownCheck(first?.checked),
    top_provider: {
      context_length: first?.contextLength ?? null,
      max_completion_tokens: first?.maxOutputTokens ?? null,
    },
    supported_parameters: [...model.supportedParameters.keys()],
    parameter_descriptors: Object.fromEntries(model.supportedParameters),
    price_card: model.priceCard.map(({ unit, costUsd, billable, variant }) => ({
      unit,
      cost_usd: costUsd,
      ...(billable === undefined ? {} : { billable }),
      ...(variant === undefined ? {} : { variant }),
    })),
    quantization: model.quantization ?? null,
    ...(model.decisionsWire === undefined ? {} : { decisions_wire: model.decisionsWire }),
    providers: model.deployments.map((each) => ({
      id: each.providerId,
      priority: each.priority,
      prompt_logging: each.promptLogging,
      datacenters: each.datacenters,
      capacity: each.capacity,
      context_length: each.contextLength ?? null,
      max_completion_tokens: each.maxOutputTokens ?? null,
      pricing: pricingOf(each),
      price_tiers: each.prices?.tiers?.map(shownTier) ?? [],
      price_changes: comingPrices(each).map(shownChange),
      checked: shownCheck(each.checked),
      verification: shownVerification(verdicts.of(each)),
    })),
    expiration_date: model.deprecationDate ?? null,
    deprecation_date: model.deprecationDate ?? null,
    released: model.released ?? null,
  };
}

function shownCheck(checked: Deployment["checked"]): object | null {
  if (checked === undefined) return null;
  const { ageUntilMs: _until, ...shown } = checked;
  return shown;
}

function shownVerification({ state, verdict, suspect }: ListingVerification): object {
  const checked = verdict === undefined ? null : instant(verdict.checkedAtMs);
  const failed = verdict?.checks.filter(({ status }) => status === "fail") ?? [];
  return {
    state,
    checked_at: checked,
    failed_checks: failed.map(({ id, title }) => ({ id, title })),
    suspect_since: suspect === undefined ? null : instant(suspect.sinceMs),
  };
}

/** `GET /v1/models` in the wire_b shape, as JSON in pieces. */
export function modelListB(
  models: readonly ListedModel[],
  query: ModelPageQuery,
): Promise<readonly Buffer[]> {
  const page = pageOf(models, query);
  const rest = JSON.stringify({
    has_more: page.hasMore,
    first_id: page.models[0]?.id ?? null,
    last_id: page.models.at(-1)?.id ?? null,
  });
  const frame = { before: '{"data":[', after: `],${rest.slice(1)}` };
  return listPieces(page.models, (model) => JSON.stringify(modelEntryB(model)), frame);
}

/** One entry of the wire_b list. */
export function modelEntryB(model: ListedModel): object {
  return {
    type: "model",
    id: model.id,
    display_name: model.displayName,
    created_at: new Date(createdSeconds(model) * 1000).toISOString().replace(".000Z", "Z"),
    architecture: architectureOf(model),
  };
}

function pageOf(
  models: readonly ListedModel[],
  query: ModelPageQuery,
): { models: readonly ListedModel[]; hasMore: boolean } {
  let rest = models;
  if (query.afterId !== undefined) {
    rest = rest.slice(rest.findIndex((model) => model.id === query.afterId) + 1);
  }
  if (query.beforeId !== undefined) {
    const at = rest.findIndex((model) => model.id === query.beforeId);
    rest = at === -1 ? rest : rest.slice(0, at);
    const start = Math.max(0, rest.length - (query.limit ?? rest.length));
    return { models: rest.slice(start), hasMore: start > 0 };
  }
  const limit = query.limit ?? rest.length;
  return { models: rest.slice(0, limit), hasMore: rest.length > limit };
}

function architectureOf(model: ListedModel): object {
  const output = OUTPUT_OF[model.modality];
  return {
    input_modalities: model.inputModalities,
    output_modalities: [output],
    modality: `${model.inputModalities.join("+")}->${output}`,
  };
}

/** What every token of a request costs whose prompt is above the bound, by the first listing. */
function shownTier({ abovePromptTokens, prices }: PriceTier): object {
  return { above_prompt_tokens: abovePromptTokens, pricing: shownPrices(prices) };
}

function shownChange({ fromMs, prices }: DatedPrices): object {
  return {
    from: instant(fromMs),
    pricing: shownPrices(prices),
    price_tiers: prices.tiers?.map(shownTier) ?? [],
  };
}

function pricingOf({ prices }: Deployment): object | null {
  return prices === null ? null : shownPrices(prices);
}

/** The lowest prices of any provider, where they are below those of the one tried first. */
function lowestPricing({ deployments: [first, ...others] }: ListedModel): object {
  if (first?.prices == null || first.billing === "reported_cost") return {};
  const sheets = others.flatMap(({ prices, billing }) =>
    billing === "token" ? (prices ?? []) : [],
  );
  const lowest = (sku: "prompt" | "completion", own: bigint): bigint =>
    sheets.reduce((low, sheet) => (sheet[sku] < low ? sheet[sku] : low), own);
  const { prompt, completion } = first.prices;
  const from = { prompt: lowest("prompt", prompt), completion: lowest("completion", completion) };
  if (from.prompt === prompt && from.completion === completion) return {};
  const shown = { prompt: usdPerToken(from.prompt), completion: usdPerToken(from.completion) };
  return { pricing_from: shown };
}

/** Decimal dollars a token. */
export function shownPrices(prices: Omit<PriceSheet, "pinId">): object {
  const { cacheWrite1h } = prices;
  return {
    prompt: usdPerToken(prices.prompt),
    completion: usdPerToken(prices.completion),
    input_cache_read: usdPerToken(prices.cachedPrompt),
    input_cache_write: usdPerToken(prices.cacheWrite),
    internal_reasoning: usdPerToken(prices.internalReasoning),
    ...(cacheWrite1h !== undefined && { input_cache_write_1h: usdPerToken(cacheWrite1h) }),
  };
}

/** Pico-USD per token as a decimal string of USD, exact and without trailing zeros. */
function usdPerToken(pico: bigint): string {
  const digits = pico.toString().padStart(13, "0");
  const text = `${digits.slice(0, -12)}.${digits.slice(-12)}`;
  return text.replace(/\.?0+$/, "");
}

/** The release day; a listing without one counts from the start of 2025. */
function createdSeconds(model: ListedModel): number {
  return Date.parse(`${model.released ?? "2025-01-01"}T00:00:00Z`) / 1000;
}
