import {
  BILLED_SKUS,
  type BilledSku,
  listingTerms,
  type Manifest,
  type ManifestImageTokens,
  type ManifestListingTerms,
  type ManifestModel,
  type ManifestPrice,
  type ManifestTermPrices,
  scaledPrice,
  statedRates,
} from "../../catalog/index.ts";
import { assert } from "../../kernel/index.ts";

/** Prices in USD per million tokens, as the manifest writes them, for every SKU. */
export type Rates = Readonly<Record<BilledSku, string>>;

/** Rates of prompts with more than `abovePromptTokens` tokens. The first tier begins at 0. */
export interface RateTier {
  readonly abovePromptTokens: number;
  readonly rates: Rates;
}

export interface Listing {
  readonly model: ManifestModel;
  readonly terms: ManifestListingTerms;
}

/** A listing, or undefined in a manifest that does not have it. */
export type Offered = Listing | undefined;

export function indexListings(manifest: Manifest): Map<string, Listing> {
  return new Map(
    manifest.models.map((model) => {
      return [model.id, { model, terms: listingTerms(manifest, model) ?? {} }];
    }),
  );
}

export function changesAfter({ terms }: Listing, afterMs: number): readonly number[] {
  const begins = (terms.price_changes ?? []).map(({ from }) => Date.parse(from));
  return begins.filter((ms) => ms > afterMs);
}

export function ratesAt({ model, terms }: Listing, atMs: number): readonly RateTier[] {
  const begun = (terms.price_changes ?? []).findLast(({ from }) => Date.parse(from) <= atMs);
  const pricing = begun?.pricing ?? model.pricing;
  const prices: ManifestTermPrices = begun ?? terms;
  const tiers = (prices.price_tiers ?? []).map((tier) => ({
    abovePromptTokens: tier.above_prompt_tokens,
    rates: computeRates(tier.pricing, tier.extra_pricing),
  }));
  return [{ abovePromptTokens: 0, rates: computeRates(pricing, prices.extra_pricing) }, ...tiers];
}

/** The rates of a prompt with one token more than `bound`. */
export function ratesAbove(tiers: readonly RateTier[], bound: number): Rates {
  const tier = tiers.findLast(({ abovePromptTokens }) => abovePromptTokens <= bound);
  assert(tier !== undefined, "the first tier is above nothing");
  return tier.rates;
}

/** Prices every SKU. A one-hour cache write without a price costs as much as another write. */
function computeRates(
  pricing: readonly ManifestPrice[],
  extra: ManifestTermPrices["extra_pricing"],
): Rates {
  const rates = statedRates(pricing, extra);
  const skus = BILLED_SKUS.map((sku) => [sku, rates[sku] ?? rates.cache_write]);
  return Object.fromEntries(skus) as Rates;
}

export interface PriceDifference {
  /** A SKU, or a text such as `card image hd` (a line of the price card) or `image_tokens hd`. */
  readonly sku: string;
  /** The price applies to prompts with more tokens than this (exclusive). */
  readonly above_prompt_tokens: number;
  /** The instant from which the prices differ; null if they differ now. */
  readonly from: string | null;
  /** USD per million tokens or per unit of the price card, or tokens; null: no price. */
  readonly old: string | null;
  readonly new: string | null;
  /** Rounded up to two decimals; null if the old price is 0 or one of the two is absent. */
  readonly percent: string | null;
}

/** False if there was no old price: a new price is no rise. */
export function isDearer({ old, new: next }: PriceDifference): boolean {
  return old !== null && next !== null && priceUnits(next) > priceUnits(old);
}

export function isCheaper({ old, new: next }: PriceDifference): boolean {
  return old !== null && next !== null && priceUnits(next) < priceUnits(old);
}

export function diffPrices(
  before: Offered,
  after: Offered,
  nowMs: number,
): readonly PriceDifference[] {
  const rates = diffRates(before, after, nowMs);
  return [...rates, ...diffImageTokens(before, after), ...diffPriceCards(before, after)];
}

/**
 * Compares token prices now and at each announced instant, at each prompt size where either listing
 * has a tier. It compares what requests cost, so two things are no difference: a default price that
 * one listing states explicitly, and a price change that both announce.
 */
export function diffRates(
  before: Offered,
  after: Offered,
  nowMs: number,
): readonly PriceDifference[] {
  const listings = [before, after].flatMap((listing) => listing ?? []);
  const begins = listings.flatMap((listing) => changesAfter(listing, nowMs));
  const sheets = [nowMs, ...ascending(begins)].map((atMs) => ({
    from: atMs === nowMs ? null : isoSecond(atMs),
    old: before === undefined ? undefined : ratesAt(before, atMs),
    new: after === undefined ? undefined : ratesAt(after, atMs),
  }));
  const tiers = sheets.flatMap((sheet) => [...(sheet.old ?? []), ...(sheet.new ?? [])]);
  const bounds = ascending(tiers.map(({ abovePromptTokens }) => abovePromptTokens));
  return BILLED_SKUS.flatMap((sku) =>
    bounds.flatMap((bound) => {
      const rate = (of: readonly RateTier[] | undefined): string | null =>
        of === undefined ? null : canonical(ratesAbove(of, bound)[sku]);
      const pairs = sheets.map(({ from, ...of }) => ({
        from,
        old: rate(of.old),
        new: rate(of.new),
      }));
      return pairs.flatMap(({ from, ...pair }, at): PriceDifference[] => {
        const earlier = pairs[at - 1];
        const isKnown = earlier?.old === pair.old && earlier.new === pair.new;
        if (isKnown || pair.old === pair.new) return [];
        return [{ sku, above_prompt_tokens: bound, from, ...withPercent(pair) }];
      });
    }),
  );
}

interface PricePair {
  /** The prices are in canonical form, so that equal prices are equal texts. */
  readonly old: string | null;
  readonly new: string | null;
}

function withPercent({
  old,
  new: next,
}: PricePair): PricePair & { readonly percent: string | null } {
  const percent =
    old === null || next === null ? null : percentChange(priceUnits(old), priceUnits(next));
  return { old, new: next, percent };
}

/**
 * Compares the output tokens for which an image without reported usage is billed, at each named
 * size and quality. The first entry that fits counts; without one the image costs nothing.
 */
function diffImageTokens(before: Offered, after: Offered): readonly PriceDifference[] {
  const old = before && readImageTokens(before);
  const next = after && readImageTokens(after);
  const all = [...(old ?? []), ...(next ?? [])];
  const sizes = [...new Set([undefined, ...all.map(({ size }) => size)])];
  const qualities = [...new Set([undefined, ...all.map(({ quality }) => quality)])];
  const kinds = sizes.flatMap((size) => qualities.map((quality) => [size, quality] as const));
  return kinds.flatMap((kind): PriceDifference[] => {
    const count = (list: readonly ManifestImageTokens[] | undefined): string | null => {
      const fits = ({ size = kind[0], quality = kind[1] }: ManifestImageTokens): boolean =>
        size === kind[0] && quality === kind[1];
      return list === undefined ? null : String(list.find(fits)?.tokens ?? 0);
    };
    const pair = { old: count(old), new: count(next) };
    if (pair.old === pair.new || all.length === 0) return [];
    const sku = ["image_tokens", ...kind].filter((part) => part !== undefined).join(" ");
    return [{ sku, above_prompt_tokens: 0, from: null, ...withPercent(pair) }];
  });
}

function readImageTokens({ terms }: Listing): readonly ManifestImageTokens[] {
  const { image_tokens: declared = [] } = terms;
  return typeof declared === "number" ? [{ tokens: declared }] : declared;
}

/** Nothing is billed from a price card, but customers see it, and expect its prices. */
function diffPriceCards(before: Offered, after: Offered): readonly PriceDifference[] {
  const old = indexCard(before);
  const next = indexCard(after);
  const names = [...new Set([...old.keys(), ...next.keys()])];
  return names.flatMap((sku): PriceDifference[] => {
    const pair = { old: old.get(sku) ?? null, new: next.get(sku) ?? null };
    if (pair.old === pair.new) return [];
    return [{ sku, above_prompt_tokens: 0, from: null, ...withPercent(pair) }];
  });
}

function indexCard(listing: Offered): ReadonlyMap<string, string> {
  const lines = new Map<string, string>();
  for (const line of listing?.model.price_card ?? []) {
    const { unit, billable, variant } = line;
    const name = ["card", unit, billable, variant].filter((part) => part !== undefined).join(" ");
    let key = name;
    for (let at = 2; lines.has(key); at++) key = `${name} (${at})`;
    lines.set(key, canonical(line.cost_usd));
  }
  return lines;
}

/** Removes zeros that do not change a price: `01.50` becomes `1.5`. */
function canonical(text: string): string {
  const [whole = "", fraction = ""] = text.split(".");
  const digits = fraction.replace(/0+$/, "");
  return `${whole.replace(/^0+(?=\d)/, "")}${digits === "" ? "" : `.${digits}`}`;
}

function ascending(numbers: readonly number[]): readonly number[] {
  return [...new Set(numbers)].toSorted((a, b) => a - b);
}

export function isoSecond(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** Price cards have the most decimals of all prices: nine. */
const FRACTION_DIGITS = 9;

/** A price of a valid manifest in billionths of a dollar, exactly. */
export function priceUnits(text: string): bigint {
  return scaledPrice(text, FRACTION_DIGITS);
}

const PARTS = 10_000n;

/** In percent, such as `+12.5`. Rounds up, so that no rise seems smaller. Null if `before` is 0. */
export function percentChange(before: bigint, next: bigint): string | null {
  if (before === 0n) return null;
  const scaled = (next - before) * PARTS;
  const cut = scaled / before;
  const parts = cut * before < scaled ? cut + 1n : cut;
  const magnitude = parts < 0n ? 0n - parts : parts;
  const fraction = (magnitude % 100n).toString().padStart(2, "0").replace(/0+$/, "");
  const text = `${magnitude / 100n}${fraction === "" ? "" : `.${fraction}`}`;
  return parts < 0n ? `-${text}` : `+${text}`;
}
