import { type Family, ReadFamily, type Sample, iterateSamples } from "./family.ts";
import type { MetricNameOf } from "./metrics-table.ts";

export type ListingLabels = readonly [provider: string, model: string];

export const LISTINGS_MAX = 1_000;

const OTHER = "other";
const OTHER_LISTING: ListingLabels = [OTHER, OTHER];

/**
 * Bounds the number of series: only the first listings in use have series of their own; all others
 * share `other`. A listing keeps its series until the process ends, so that no series changes
 * meaning.
 */
export class ListingFold {
  readonly listingsMax: number;
  readonly #places: Map<string, ListingLabels> = new Map();
  readonly #models: Set<string> = new Set();
  folded = 0;

  constructor(listingsMax: number) {
    this.listingsMax = listingsMax;
  }

  /**
   * Returns the labels of a listing in use: its own labels if it has or now gets a series, else
   * `other`. At most `listingsMax` listings get a series.
   */
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

  isOther(labels: ListingLabels): boolean {
    return labels === OTHER_LISTING;
  }

  /**
   * Makes a family for each map. A map's keys are provider, model and further label values, joined
   * by `|`.
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

  /**
   * Returns the model's id if one of its listings has or can still get series of its own, else
   * `other`.
   */
  modelLabel(model: string): string {
    return this.#models.has(model) || this.#places.size < this.listingsMax ? model : OTHER;
  }

  /**
   * Returns labels for all listings, used or not. Listings that do not have their own series get
   * the remaining ones, but only in this result.
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
