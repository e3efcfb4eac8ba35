import { type Family, ReadFamily, type Sample, iterateSamples } from "./family.ts";
import type { MetricNameOf } from "./metrics-table.ts";

/** The labels that a listing is shown under. */
export type ListingLabels = readonly [provider: string, model: string];

/** The default number of listings with series of their own. */
export const LISTINGS_MAX = 1_000;

const OTHER = "other";
const OTHER_LISTING: ListingLabels = [OTHER, OTHER];

/**
 * Which listings have series of their own: the first that were used, up to a bound; the others are
 * one. A listing keeps its place until the process ends, so no series changes its meaning.
 */
export class ListingFold {
  /** Most listings with series of their own. */
  readonly listingsMax: number;
  readonly #places: Map<string, ListingLabels> = new Map();
  readonly #models: Set<string> = new Set();
  /** Attempts of listings without a place. */
  folded = 0;

  constructor(listingsMax: number) {
    this.listingsMax = listingsMax;
  }

  /** The labels of a used listing, which takes one of the places while there are any. */
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
   * Counters by listing, from maps whose keys are provider, model and further labels with bars
   * between them.
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

  /** The label of a model: of its own while a listing of it has a place. */
  modelLabel(model: string): string {
    return this.#models.has(model) || this.#places.size < this.listingsMax ? model : OTHER;
  }

  /**
   * The labels for figures of all listings, used or not: first the listings that have a place, then
   * others while places are left.
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
