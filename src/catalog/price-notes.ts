import type { CatalogNote } from "./catalog-input.ts";
import type { Catalog, CheckedPrices, Deployment, PriceSheet } from "./catalog.ts";
import { byText } from "./merge-models.ts";
import { computeRates, isDearer } from "./pricing/quote.ts";

/** The highest plausible price, in USD per million tokens: sixty times the highest known price. */
const PLAUSIBLE_USD = 10_000n;
const PICO_PER_TOKEN_OF_ONE_USD = 1_000_000n;
/** A change by this factor is probably a wrong unit or decimal point: real prices change less. */
const JUMP_FACTOR = 100n;

/**
 * Warns about legal prices that are probably mistakes. Only text listings can be implausible,
 * because a token of another modality can mean a whole image.
 */
export function priceNotes(file: string, deployment: Deployment): CatalogNote[] {
  const { id, modality, billing } = deployment;
  const sheets = listSheets(deployment);
  const bound = PLAUSIBLE_USD * PICO_PER_TOKEN_OF_ONE_USD;
  const isImplausible =
    modality === "text" &&
    billing === "token" &&
    sheets.some((sheet) => everyRate(sheet).some((rate) => rate > bound));
  const note = (reason: CatalogNote["reason"], about: string): CatalogNote[] => [
    { file, deploymentId: id, reason, message: `${id} ${about}` },
  ];
  const dearer = "is bought for more than it is sold: a purchase price is above its price";
  const large = `has a price above $${PLAUSIBLE_USD} per million tokens; check its unit and its point`;
  return [
    ...(sheets.some(isBoughtDearer) ? note("purchase_above_price", dearer) : []),
    ...(isImplausible ? note("price_implausible", large) : []),
  ];
}

/** True if the provider is at present owed more for some SKU than customers pay. */
export function isBelowCost({ prices }: Pick<Deployment, "prices">): boolean {
  return prices !== null && isBoughtDearer(prices);
}

/** Ids of listings whose new prompt or completion price differs by a factor of 100 or more. */
export function priceJumps(before: Catalog, after: Catalog): readonly string[] {
  const old = new Map(before.deployments.map((each) => [each.id, each]));
  return after.deployments.flatMap((deployment) => {
    const known = old.get(deployment.id);
    if (known?.prices == null || known.billing !== deployment.billing) return [];
    const base = known.prices;
    const pins = new Set(listSheets(known).map(({ pinId }) => pinId));
    const isJump = listSheets(deployment).some(
      (sheet) =>
        !pins.has(sheet.pinId) &&
        (isFarFrom(base.prompt, sheet.prompt) || isFarFrom(base.completion, sheet.completion)),
    );
    return isJump ? [deployment.id] : [];
  });
}

/** A price of 0 is not compared, because a listing may become free or stop being free. */
function isFarFrom(a: bigint, b: bigint): boolean {
  if (a === 0n || b === 0n) return false;
  return a >= b * JUMP_FACTOR || b >= a * JUMP_FACTOR;
}

function listSheets({ prices, datedPrices }: Deployment): readonly PriceSheet[] {
  return datedPrices?.map((dated) => dated.prices) ?? (prices === null ? [] : [prices]);
}

function everyRate(sheet: PriceSheet): readonly bigint[] {
  const tiers = sheet.tiers?.map(({ prices }) => prices) ?? [];
  const others = sheet.purchase === undefined ? tiers : [...tiers, sheet.purchase];
  return [...Object.values(computeRates(sheet)), ...others.flatMap(everyRate)];
}

function isBoughtDearer(prices: PriceSheet): boolean {
  return prices.purchase !== undefined && isDearer(prices.purchase, prices);
}

/** Days since the last price check after which prices count as `late`. */
export const CHECK_DAYS_MAX = 45;
/** Days since the last price check after which prices are `old` and the listing is tried last. */
export const OLD_DAYS = 90;

const DAY_MS = 86_400_000;

/** True once `days` whole UTC days have passed after the day `on`. */
export function isOlderThan(on: string, days: number, nowMs: number): boolean {
  return nowMs >= addDays(on, days);
}

function addDays(on: string, days: number): number {
  return endOfDay(on) + days * DAY_MS;
}

export function endOfDay(day: string): number {
  return Date.parse(`${day}T00:00:00Z`) + DAY_MS;
}

/** The age of a check, and when it changes or the listing becomes too old to be routed. */
export function computeAge(
  on: string,
  nowMs: number,
  endsAfterDays: number,
): Pick<CheckedPrices, "age" | "ageUntilMs"> {
  const isOver = (days: number): boolean => isOlderThan(on, days, nowMs);
  const ends = [CHECK_DAYS_MAX, OLD_DAYS, endsAfterDays].map((days) => addDays(on, days));
  return {
    age: isOver(OLD_DAYS) ? "old" : isOver(CHECK_DAYS_MAX) ? "late" : "recent",
    ageUntilMs: Math.min(...ends.filter((atMs) => atMs > nowMs)),
  };
}

export interface StaleListing {
  readonly deployment: Deployment;
  readonly on: string;
}

/** Routed listings whose price check is more than 45 days old, oldest first. */
export function staleListings({ models }: Pick<Catalog, "models">): readonly StaleListing[] {
  return models
    .flatMap(({ deployments }) => deployments)
    .flatMap((deployment): StaleListing[] => {
      const { checked } = deployment;
      return checked === undefined || checked.age === "recent"
        ? []
        : [{ deployment, on: checked.on }];
    })
    .toSorted((a, b) => byText(a.on, b.on) || byText(a.deployment.id, b.deployment.id));
}
