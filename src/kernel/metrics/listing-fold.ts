import { type Family, ReadFamily, type Sample, iterateSamples } from "./family.ts";
import type { MetricNameOf } from "./metrics-table.ts";

/** The labels that a listing is shown under. */
export type ListingLabels = readonly [provider: string, model: string];

/** The default number of listings with series of their own. */
export const LISTINGS_MAX = 1_000;

const OTHER = "other";
const OTHER_LISTING: ListingLabels = [OTHER, OTHER];

/**
 * Bounds the number of series: only the first listings in use have their own, and all others are
 * `other`. A listing keeps its place until the process ends, so no series changes its meaning.
 */
export class ListingFold {
  /** Maximum number of listings with their own series. */
  readonly listingsMax: number;
  readonly #places: Map<string, ListingLabels> = new Map();
  readonly #models: Set<string> = new Set();
  /** Number of attempts of listings without a place. */
  folded = 0;

  constructor(listingsMax: number) {
    this.listingsMax = listingsMax;
  }

  /** Returns the labels of a used listing, which takes a place if one is left. */
  place(provider: string, model: string): ListingLabels {
    const key = `${provider}|${model}`;
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    if (this.#places.size >= this.listingsMax) return OTHER_LISTING;
    const labels: ListingLabels = [provider, model];
    this.#places.set(key, labels);
    this.#models.add(model);
    return labels;
  }

  /** True if the labels stand for all listings without a place. */
  isOther(labels: ListingLabels): boolean {
    return labels === OTHER_LISTING;
  }

  /**
   * Makes counters by listing, from maps whose keys are provider, model and further label values,
   * joined by `|`.
   */
  counters(
    maps: Readonly<Partial<Record<MetricNameOf<"counter">, ReadonlyMap<string, number>>>>,
  ): readonly Family[] {
    const named = Object.entries(maps) as [MetricNameOf<"counter">, ReadonlyMap<string, number>][];
    return named.map(([name, values]) => new ReadFamily(name, () => this.#folded(values)));
  }

  *#folded(values: ReadonlyMap<string, number>): Iterable<Sample> {
    for (const [[provider = "", model = "", ...rest], value] of iterateSamples(values)) {
      yield [[...this.place(provider, model), ...rest], value];
    }
  }

  /** Returns the label of a model: its id if a listing of it has a place or could get one. */
  modelLabel(model: string): string {
    return this.#models.has(model) || this.#places.size < this.listingsMax ? model : OTHER;
  }

  /**
   * Returns labels for all listings, used or not. Listings without a place get the places that are
   * left, for this call only.
   */
  forAll<T extends { readonly providerId: string; readonly modelId: string }>(
    listings: readonly T[],
  ): readonly (readonly [ListingLabels, T])[] {
    let free = this.listingsMax - this.#places.size;
    return listings.map((listing) => {
      const known = this.#places.get(`${listing.providerId}|${listing.modelId}`);
      if (known !== undefined) return [known, listing];
      free -= 1;
      return [free >= 0 ? [listing.providerId, listing.modelId] : OTHER_LISTING, listing];
    });
  }
}
