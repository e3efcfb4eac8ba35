import {
  extraPricing,
  type ManifestPrice,
  type ManifestTermPrices,
  scaledPrice,
} from "../../catalog/index.ts";
import {
  type Decimal,
  decimalSize,
  parseDecimal,
  plainDecimal,
  shiftDecimal,
} from "../../kernel/index.ts";

/** A price as a manifest writes it. `changed` says how it differs from the source's digits. */
export type PriceReading =
  | {
      readonly ok: true;
      readonly usdPerMillion: string;
      readonly changed?: "price-noise" | "price-rounded";
    }
  | { readonly ok: false; readonly reason: "not-a-price" | "negative" | "too-large" };

const WHOLE_DIGITS_MAX = 7;
const FRACTION_DIGITS_MAX = 6;
/** A number with this many digits or more may have the rounding errors of a float. */
const NOISE_DIGITS_MIN = 15;
const NOISE_PARTS = 1_000_000_000n;
/** Fraction digits that are computed exactly. A float has far fewer. */
const EXACT_DIGITS_MAX = 60;

/**
 * `places` moves the decimal point to USD per million tokens: 6 for a price per token, 0 for one
 * per million. Excess digits are rounded up, but a float's error is rounded to the nearest price.
 */
export function readPrice(raw: string, places: number): PriceReading {
  const written = parseDecimal(raw);
  if (written === undefined) return { ok: false, reason: "not-a-price" };
  if (written.negative) return { ok: false, reason: "negative" };
  return inManifestDigits(shiftDecimal(written, places));
}

function inManifestDigits(decimal: Decimal): PriceReading {
  const { whole, fraction } = decimalSize(decimal);
  if (whole > WHOLE_DIGITS_MAX) return { ok: false, reason: "too-large" };
  if (fraction <= FRACTION_DIGITS_MAX) {
    return { ok: true, usdPerMillion: plainDecimal(decimal, FRACTION_DIGITS_MAX) };
  }
  const exact = fixedPoint(decimal);
  const unit = 10n ** BigInt(EXACT_DIGITS_MAX - FRACTION_DIGITS_MAX);
  const nearest = ((exact + unit / 2n) / unit) * unit;
  const distance = nearest > exact ? nearest - exact : exact - nearest;
  const isNoise =
    decimal.digits.length >= NOISE_DIGITS_MIN && distance * NOISE_PARTS <= exact && nearest > 0n;
  const kept = isNoise ? nearest / unit : (exact + unit - 1n) / unit;
  const usdPerMillion = printMillionths(kept);
  if (usdPerMillion === undefined) return { ok: false, reason: "too-large" };
  return { ok: true, usdPerMillion, changed: isNoise ? "price-noise" : "price-rounded" };
}

/** The number in units of 10^-60, rounded up, so that no price becomes lower. */
function fixedPoint(decimal: Decimal): bigint {
  const cut = scaledPrice(plainDecimal(decimal, EXACT_DIGITS_MAX), EXACT_DIGITS_MAX);
  return decimalSize(decimal).fraction > EXACT_DIGITS_MAX ? cut + 1n : cut;
}

function printMillionths(count: bigint): string | undefined {
  const digits = count.toString().padStart(FRACTION_DIGITS_MAX + 1, "0");
  const whole = digits.slice(0, -FRACTION_DIGITS_MAX);
  const fraction = digits.slice(-FRACTION_DIGITS_MAX).replace(/0+$/, "");
  if (whole.length > WHOLE_DIGITS_MAX) return undefined;
  return fraction === "" ? whole : `${whole}.${fraction}`;
}

function millionths(usdPerMillion: string): bigint {
  return scaledPrice(usdPerMillion, FRACTION_DIGITS_MAX);
}

/** True for percent as decimal text, such as "7.5": at most three whole and six decimal digits. */
export function isMargin(percent: string): boolean {
  return /^\d{1,3}(?:\.\d{1,6})?$/.test(percent);
}

/** Adds a margin and rounds up to six decimals. Undefined if a manifest cannot hold the price. */
export function withMargin(usdPerMillion: string, percent: string): string | undefined {
  const whole = 100n * 1_000_000n;
  const exact = millionths(usdPerMillion) * (whole + millionths(percent));
  return printMillionths((exact + whole - 1n) / whole);
}

export function comparePrices(a: string, b: string): number {
  const [left, right] = [millionths(a), millionths(b)];
  return left === right ? 0 : left < right ? -1 : 1;
}

/** Compares prices as sources write them ("2e-06"). A text that is no price counts as largest. */
export function comparePriceTexts(a: string, b: string): number {
  const [left, right] = [readPrice(a, 6), readPrice(b, 6)];
  if (!left.ok || !right.ok) return left.ok === right.ok ? 0 : left.ok ? -1 : 1;
  return comparePrices(left.usdPerMillion, right.usdPerMillion);
}

/** Sale and `purchase_…` prices. Without the latter, the provider is owed the sale prices. */
export type Prices = ManifestTermPrices & { readonly pricing: readonly ManifestPrice[] };

type Raise = (price: string) => string;

/** Raises the sale prices: each becomes `raise(price)` of the price that the provider is owed. */
export function raisedPrices<P extends Prices>(prices: P, raise: Raise): P {
  const bought = prices.purchase_pricing ?? prices.pricing;
  const tiers = prices.purchase_tiers ?? prices.price_tiers;
  const extra = prices.purchase_extra ?? prices.extra_pricing;
  const raisedTiers = tiers?.map((tier) => ({
    ...tier,
    pricing: raisedEntries(tier.pricing, raise),
    ...raisedExtra(tier.extra_pricing, raise),
  }));
  return {
    ...prices,
    pricing: raisedEntries(bought, raise),
    purchase_pricing: bought,
    ...(tiers && { price_tiers: raisedTiers, purchase_tiers: tiers }),
    ...(extra && { ...raisedExtra(extra, raise), purchase_extra: extra }),
  };
}

function raisedEntries(entries: readonly ManifestPrice[], raise: Raise): readonly ManifestPrice[] {
  return entries.map((entry) => ({
    ...entry,
    cost_usd_per_million: raise(entry.cost_usd_per_million),
  }));
}

function raisedExtra(
  extra: ManifestTermPrices["extra_pricing"],
  raise: Raise,
): Pick<ManifestTermPrices, "extra_pricing"> {
  return extra === undefined ? {} : { extra_pricing: extraPricing((sku) => raise(extra[sku])) };
}
