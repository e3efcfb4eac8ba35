/** The labels that a listing is shown under. */
export type ListingLabels = readonly [provider: string, model: string];

export const OTHER: string = "other";
const OTHER_LISTING: ListingLabels = [OTHER, OTHER];

/**
 * Which listings have series of their own: the first that were used, up to a bound; the others are
 * one. A listing keeps its place until the process ends, so no series changes its meaning.
 */
export class ListingFold {
  readonly #max: number;
  readonly #places: Map<string, ListingLabels> = new Map();
  readonly #models: Set<string> = new Set();
  /** Attempts of listings without a place. */
  folded = 0;

  constructor(listingsMax: number) {
    this.#max = listingsMax;
  }

  /** The labels of a listing that is used: it gets a place while there is one. */
  place(provider: string, model: string): ListingLabels {
    const key = `${provider}|${model}`;
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    if (this.#places.size >= this.#max) return OTHER_LISTING;
    const labels: ListingLabels = [provider, model];
    this.#places.set(key, labels);
    this.#models.add(model);
    return labels;
  }

  /** The label of a model: of its own while a listing of it has a place. */
  modelLabel(model: string): string {
    return this.#models.has(model) || this.#places.size < this.#max ? model : OTHER;
  }

  /** The label of a provider, however many of its listings have a place. */
  isFull(): boolean {
    return this.#places.size >= this.#max;
  }

  /**
   * Labels for what is shown of each listing, used or not: those with a place first, then as many
   * others as there are places left.
   */
  forAll<T extends { readonly provider: string; readonly model: string }>(
    listings: readonly T[],
  ): readonly (readonly [ListingLabels, T])[] {
    let free = this.#max - this.#places.size;
    return listings.map((listing) => {
      const known = this.#places.get(`${listing.provider}|${listing.model}`);
      if (known !== undefined) return [known, listing];
      free -= 1;
      return [free >= 0 ? [listing.provider, listing.model] : OTHER_LISTING, listing];
    });
  }
}
