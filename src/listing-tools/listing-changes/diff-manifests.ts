import type { Manifest } from "../../catalog/index.ts";
import { diffListingFacts, diffProviderFacts, type FactDifference } from "./diff-facts.ts";
import {
  diffPrices,
  indexListings,
  isCheaper,
  isDearer,
  type Offered,
  type PriceDifference,
} from "./listing-prices.ts";

export interface ListingDifference {
  readonly model: string;
  readonly change: "added" | "removed" | "changed";
  /** True if a price rises, now or at an announced instant. False for a listing that was staged. */
  readonly is_dearer: boolean;
  readonly is_cheaper: boolean;
  /** True if the listing is removed, or offers clients less than before. */
  readonly is_less: boolean;
  readonly prices: readonly PriceDifference[];
  readonly facts: readonly FactDifference[];
}

export interface ManifestDifference {
  /** True if no client pays more, and nothing is removed or reduced. */
  readonly ok: boolean;
  readonly provider: string;
  readonly counts: Readonly<
    Record<"old" | "new" | "added" | "removed" | "changed" | "dearer" | "cheaper", number>
  >;
  /** Differences of facts that hold for all listings. */
  readonly facts: readonly FactDifference[];
  /** Only listings with a difference, in the order of their ids. */
  readonly models: readonly ListingDifference[];
}

/** Compares what customers are offered. `nowMs` decides which dated prices apply. */
export function diffManifests(
  before: Manifest,
  after: Manifest,
  nowMs: number,
): ManifestDifference {
  const old = indexListings(before);
  const next = indexListings(after);
  const ids = [...new Set([...old.keys(), ...next.keys()])].toSorted();
  const models = ids.flatMap((id) => diffListing(id, old.get(id), next.get(id), nowMs));
  const facts = diffProviderFacts(before, after);
  const count = (is: (each: ListingDifference) => boolean): number => models.filter(is).length;
  return {
    ok: !models.some((each) => each.is_dearer || each.is_less) && !facts.some(isLess),
    provider: after.provider.id,
    counts: {
      old: old.size,
      new: next.size,
      added: count(({ change }) => change === "added"),
      removed: count(({ change }) => change === "removed"),
      changed: count(({ change }) => change === "changed"),
      dearer: count((each) => each.is_dearer),
      cheaper: count((each) => each.is_cheaper),
    },
    facts,
    models,
  };
}

function diffListing(
  model: string,
  before: Offered,
  after: Offered,
  nowMs: number,
): readonly ListingDifference[] {
  const prices = diffPrices(before, after, nowMs);
  const isChange = before !== undefined && after !== undefined;
  const facts = isChange ? diffListingFacts(before, after) : [];
  if (isChange && prices.length === 0 && facts.length === 0) return [];
  const change = before === undefined ? "added" : after === undefined ? "removed" : "changed";
  // A change of a staged listing affects no client.
  const isSold = before !== undefined && before.model.is_ready !== false;
  return [
    {
      model,
      change,
      is_dearer: isSold && prices.some(isDearer),
      is_cheaper: isSold && prices.some(isCheaper),
      is_less: isSold && (change === "removed" || facts.some(isLess)),
      prices,
      facts,
    },
  ];
}

function isLess({ is_less: isIt }: FactDifference): boolean {
  return isIt;
}
