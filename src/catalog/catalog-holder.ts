import type { Catalog } from "./catalog.ts";

/**
 * The catalog in force. It is swapped whole: a caller that took `current` keeps a consistent view
 * for the rest of its request, and a failed compile swaps nothing, so the old catalog stays.
 */
export class CatalogHolder {
  #current: Catalog;

  constructor(first: Catalog) {
    this.#current = first;
  }

  get current(): Catalog {
    return this.#current;
  }

  /** Puts `next` in force and returns the catalog it replaced. */
  swap(next: Catalog): Catalog {
    const replaced = this.#current;
    this.#current = next;
    return replaced;
  }
}
