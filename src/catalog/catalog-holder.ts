import type { Catalog } from "./catalog.ts";

/**
 * The catalog in force. It is replaced as a whole: a request that read `current` keeps a consistent
 * view, and a failed compile replaces nothing.
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
