import { type Manifest, type PriceSheet, exactCost } from "../../catalog/index.ts";
import {
  fromSkuNames,
  type OrgId,
  parseUsd,
  type PicoUsd,
  picoUsd,
  type Usage,
  assert,
} from "../../kernel/index.ts";
import { changesAfter, type Listing, indexListings, ratesAt } from "./listing-prices.ts";

/** The tokens of one organization with one model of a provider. */
export interface ModelUse {
  readonly orgId: OrgId;
  readonly modelId: string;
  readonly usage: Usage;
}

/** The cost of the same tokens, exactly. */
export interface UseCost {
  /** At the prices that hold now. */
  readonly old: PicoUsd;
  /** At the new ones of now. */
  readonly new: PicoUsd;
  /** At the new ones when everything that they announce has begun. */
  readonly later: PicoUsd;
}

export interface OrgCost extends UseCost {
  readonly orgId: OrgId;
}

export interface TrafficCost {
  /** The organizations, the one with the greatest rise first. */
  readonly organizations: readonly OrgCost[];
  readonly total: UseCost;
  /** Used models that only one of the manifests prices: they are in no sum. */
  readonly notPriced: readonly string[];
  /** Used models with prices by prompt size, which sums do not say: at the lowest tier. */
  readonly tiered: readonly string[];
}

/** Prices what organizations used at the prices of two manifests. */
export function costOfTraffic(
  uses: readonly ModelUse[],
  prices: { readonly before: Manifest; readonly after: Manifest; readonly nowMs: number },
): TrafficCost {
  const before = indexListings(prices.before);
  const after = indexListings(prices.after);
  const costs = new Map<OrgId, UseCost>();
  const notPriced = new Set<string>();
  const tiered = new Set<string>();
  for (const { orgId, modelId, usage } of uses) {
    const old = before.get(modelId);
    const next = after.get(modelId);
    if (old === undefined || next === undefined) {
      notPriced.add(modelId);
      continue;
    }
    if (hasTiers(old, prices.nowMs) || hasTiers(next, prices.nowMs)) tiered.add(modelId);
    const cost = costOfUse(usage, { before: old, after: next, nowMs: prices.nowMs });
    costs.set(orgId, plus(costs.get(orgId) ?? NOTHING, cost));
  }
  const organizations = [...costs].map(([orgId, cost]) => ({ orgId, ...cost }));
  return {
    organizations: organizations.toSorted(byMore),
    total: organizations.reduce<UseCost>(plus, NOTHING),
    notPriced: [...notPriced].toSorted(),
    tiered: [...tiered].toSorted(),
  };
}

/** The cost of the tokens of one listing. */
export function costOfUse(
  usage: Usage,
  listing: { readonly before: Listing; readonly after: Listing; readonly nowMs: number },
): UseCost {
  const { before, after, nowMs } = listing;
  const lastMs = Math.max(nowMs, ...changesAfter(after, nowMs));
  return {
    old: exactCost(toSheet(before, nowMs), usage),
    new: exactCost(toSheet(after, nowMs), usage),
    later: exactCost(toSheet(after, lastMs), usage),
  };
}

const NOTHING: UseCost = { old: picoUsd(0n), new: picoUsd(0n), later: picoUsd(0n) };

function plus(a: UseCost, b: UseCost): UseCost {
  return {
    old: picoUsd(a.old + b.old),
    new: picoUsd(a.new + b.new),
    later: picoUsd(a.later + b.later),
  };
}

function byMore(a: OrgCost, b: OrgCost): number {
  const [moreOfA, moreOfB] = [a.later - a.old, b.later - b.old];
  if (moreOfA !== moreOfB) return moreOfA > moreOfB ? -1 : 1;
  return a.orgId < b.orgId ? -1 : 1;
}

function hasTiers(listing: Listing, nowMs: number): boolean {
  const instants = [nowMs, ...changesAfter(listing, nowMs)];
  return instants.some((atMs) => ratesAt(listing, atMs).length > 1);
}

/** The lowest tier of an instant. */
function toSheet(listing: Listing, atMs: number): PriceSheet {
  const [first] = ratesAt(listing, atMs);
  assert(first !== undefined, "the first tier is above nothing");
  return { pinId: "", ...fromSkuNames((name) => picoUsdPerToken(first.rates[name])) };
}

/** USD per million tokens is as many micro-USD per million, which is pico-USD per token. */
function picoUsdPerToken(costUsdPerMillion: string): bigint {
  const price = parseUsd(costUsdPerMillion);
  assert(price !== undefined, "a valid price is a decimal with at most six fraction digits");
  return price;
}
