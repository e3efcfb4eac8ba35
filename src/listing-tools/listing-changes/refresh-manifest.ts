import { isDeepStrictEqual } from "node:util";

import type { Manifest, ManifestCatalogSource } from "../../catalog/index.ts";
import { listingHash } from "../listing-sources/ids.ts";
import { diffListingFacts, type FactDifference } from "./diff-facts.ts";
import { diffRates, indexListings, type Listing, type PriceDifference } from "./listing-prices.ts";
import { mergeListing, type PriceRules } from "./merge-listing.ts";

type SourcedManifest = Manifest & { readonly catalog_source: ManifestCatalogSource };

export interface RefreshInput {
  readonly current: SourcedManifest;
  /** The same provider's listings, imported again from the sources. */
  readonly imported: SourcedManifest;
  /** Models that a source has but no two agree on. Their listings are kept, unless `accepted`. */
  readonly unsettled: ReadonlySet<string>;
  readonly rules: PriceRules;
  /** Models whose rise, staging or removal a person has accepted. */
  readonly accepted: ReadonlySet<string>;
}

/** Something that a person must decide or should know. */
export interface RefreshFinding {
  readonly model: string;
  readonly kind:
    /** A large rise, a staging, or too many removals. A person must accept it before it applies. */
    | "rise_waits"
    | "staging_waits"
    | "going_waits"
    /** The listing was edited by hand, and the source differs or lacks it. It stays unchanged. */
    | "edited"
    /** The listing was removed by hand. It is not added again. */
    | "removed_by_hand"
    /** The source no longer has the model, so its listing gets an end date. */
    | "gone";
  readonly prices: readonly PriceDifference[];
  readonly facts: readonly FactDifference[];
}

export interface Refreshed {
  /** If nothing changes, this is the object `current` of the input. */
  readonly manifest: Manifest;
  readonly isUnchanged: boolean;
  readonly findings: readonly RefreshFinding[];
}

const GOES_AFTER_MS = 14 * 86_400_000;

/**
 * Merges three versions of each listing: the last import (known by its hash), the present file, and
 * the source. Edits, additions and removals by hand are kept; the rest follows the source or waits.
 */
export function refreshManifest(input: RefreshInput): Refreshed {
  return new Refresh(input).result();
}

class Refresh {
  readonly #input: RefreshInput;
  readonly #current: ReadonlyMap<string, Listing>;
  readonly #next: ReadonlyMap<string, Listing>;
  readonly #written: (readonly [string, Listing])[] = [];
  readonly #hashes = new Map<string, string>();
  readonly #findings: RefreshFinding[] = [];

  constructor(input: RefreshInput) {
    this.#input = input;
    this.#current = indexListings(input.current);
    this.#next = indexListings(input.imported);
  }

  result(): Refreshed {
    const { imported } = this.#input.current.catalog_source;
    const going = [...this.#current.keys()].filter(
      (id) =>
        Object.hasOwn(imported, id) &&
        !this.#next.has(id) &&
        !this.#hasEnd(id) &&
        !this.#input.unsettled.has(id),
    );
    // If more than half of the models vanish at once, the source's list is probably broken.
    const mayGo = going.length * 2 <= Object.keys(imported).length;
    for (const [id, listing] of this.#current) this.#merge(id, listing, mayGo);
    for (const [id, listing] of this.#next) this.#add(id, listing);
    const manifest = this.#manifest();
    const isUnchanged = manifest === this.#input.current;
    return { manifest, isUnchanged, findings: this.#findings };
  }

  #hasEnd(id: string): boolean {
    return this.#current.get(id)?.model.deprecation_date !== undefined;
  }

  #merge(id: string, listing: Listing, mayGo: boolean): void {
    const base = this.#findBase(id);
    const next = this.#next.get(id);
    const hash = this.#hash(listing);
    if (base === undefined) return this.#keep(id, listing, next);
    if (next !== undefined && hash === this.#hash(next)) return this.#take(id, next);
    if (hash !== base) return this.#keep(id, listing, next);
    if (next === undefined) return this.#end(id, listing, mayGo);
    const { rules, accepted } = this.#input;
    const merged = mergeListing(listing, next, { ...rules, isAccepted: accepted.has(id) });
    if (merged.kind === "taken") return this.#take(id, merged.listing);
    this.#keepAsImported(id, merged.listing ?? listing);
    const kind = merged.reason === "rise" ? "rise_waits" : "staging_waits";
    this.#find(id, kind, { before: listing, after: next });
  }

  #keep(id: string, listing: Listing, next: Listing | undefined): void {
    const base = this.#findBase(id);
    this.#written.push([id, listing]);
    if (base !== undefined) this.#hashes.set(id, base);
    if (next !== undefined) this.#find(id, "edited", { before: listing, after: next });
    else if (base !== undefined) this.#find(id, "edited");
  }

  #keepAsImported(id: string, listing: Listing): void {
    this.#written.push([id, listing]);
    this.#hashes.set(id, this.#hash(listing));
  }

  #take(id: string, listing: Listing): void {
    const before = this.#current.get(id);
    // A listing with equal content keeps its present text in the file.
    const isSame = before !== undefined && this.#hash(before) === this.#hash(listing);
    this.#keepAsImported(id, isSame ? before : listing);
  }

  #end(id: string, listing: Listing, mayGo: boolean): void {
    const { accepted, rules } = this.#input;
    if (this.#hasEnd(id)) return this.#keepAsImported(id, listing);
    if (this.#input.unsettled.has(id) && !accepted.has(id)) {
      this.#keepAsImported(id, listing);
      return listing.model.is_ready === false ? undefined : this.#find(id, "staging_waits");
    }
    if (!mayGo && !accepted.has(id)) {
      this.#keepAsImported(id, listing);
      return this.#find(id, "going_waits");
    }
    const day = new Date(rules.nowMs + GOES_AFTER_MS).toISOString().slice(0, 10);
    const model = { ...listing.model, deprecation_date: day };
    this.#keepAsImported(id, { model, terms: listing.terms });
    this.#find(id, "gone");
  }

  #add(id: string, listing: Listing): void {
    if (this.#current.has(id)) return;
    const base = this.#findBase(id);
    if (base === undefined) return this.#keepAsImported(id, listing);
    this.#hashes.set(id, base);
    this.#find(id, "removed_by_hand");
  }

  #find(
    model: string,
    kind: RefreshFinding["kind"],
    pair?: { readonly before: Listing; readonly after: Listing },
  ): void {
    const { nowMs } = this.#input.rules;
    this.#findings.push({
      model,
      kind,
      prices: pair === undefined ? [] : diffRates(pair.before, pair.after, nowMs),
      facts: pair === undefined ? [] : diffListingFacts(pair.before, pair.after),
    });
  }

  #findBase(id: string): string | undefined {
    const { imported } = this.#input.current.catalog_source;
    return Object.hasOwn(imported, id) ? imported[id] : undefined;
  }

  #hash({ model, terms }: Listing): string {
    return listingHash(model, Object.keys(terms).length === 0 ? undefined : terms);
  }

  #manifest(): Manifest {
    const { current, imported } = this.#input;
    const terms = this.#written.flatMap(([id, listing]) =>
      Object.keys(listing.terms).length === 0 ? [] : [[id, listing.terms] as const],
    );
    const hashes = [...this.#hashes].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const manifest = {
      ...current,
      models: this.#written.map(([, { model }]) => model),
      listing_terms: Object.fromEntries(terms),
      catalog_source: { ...imported.catalog_source, imported: Object.fromEntries(hashes) },
    };
    const { listing_terms: _none, ...withoutTerms } = manifest;
    const merged = terms.length === 0 ? withoutTerms : manifest;
    return isDeepStrictEqual(merged, current) ? current : merged;
  }
}
