import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { SHIPPED_MANIFESTS } from "../../app/index.ts";
import {
  type Manifest,
  type ManifestListingTerms,
  type ManifestModel,
  validateManifest,
} from "../../catalog/index.ts";
import { findHead } from "../../listing-tools/index.ts";

/** The manifest of a provider as it is published with the program; undefined: there is none. */
export function shippedManifest(providerId: string): Manifest | undefined {
  const file = join(SHIPPED_MANIFESTS, `${providerId}.json`);
  // The id is one of the heads': it names no other folder.
  if (findHead(providerId) === undefined || !existsSync(file)) return undefined;
  const verdict = validateManifest(readFileSync(file, "utf8"));
  return verdict.ok ? verdict.manifest : undefined;
}

/** A listing of a shipped manifest, and what is said of it. */
export interface ShippedListing {
  readonly providerId: string;
  readonly model: ManifestModel;
  readonly terms: ManifestListingTerms | undefined;
}

/** Every shipped listing of a real provider, by the model's id; labs before those who resell. */
export function shippedListings(): ReadonlyMap<string, ShippedListing> {
  const ids = readdirSync(SHIPPED_MANIFESTS).map((file) => file.replace(/\.json$/, ""));
  const manifests = ids.flatMap((id) => shippedManifest(id) ?? []);
  const listings = new Map<string, ShippedListing>();
  for (const { provider, models, listing_terms: terms } of manifests.toSorted(byPriority)) {
    for (const model of models.filter(({ id }) => !listings.has(id))) {
      listings.set(model.id, { providerId: provider.id, model, terms: terms?.[model.id] });
    }
  }
  return listings;
}

function byPriority(a: Manifest, b: Manifest): number {
  const order = (a.provider.priority ?? 0) - (b.provider.priority ?? 0);
  return order === 0 ? Number(a.provider.id > b.provider.id) * 2 - 1 : order;
}
