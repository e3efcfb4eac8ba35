import type { Manifest, ManifestListingTerms, ManifestModel } from "../../catalog/index.ts";
import { listingHash } from "../listing-sources/ids.ts";
import { raisedPrices, withMargin as priceWithMargin } from "../listing-sources/price-text.ts";

/** Replaces a raised price that is too large, so that validation refuses and locates it. */
const TOO_LARGE = "99999999";

/**
 * Customers pay the raised prices, and the provider is owed those before the margin. An earlier
 * margin is replaced. Without token prices, the manifest is returned unchanged.
 */
export function withMargin(manifest: Manifest, percent: string): Manifest {
  if (manifest.endpoint.billing === "reported_cost") return manifest;
  const raise = (price: string): string => priceWithMargin(price, percent) ?? TOO_LARGE;
  const terms: Record<string, ManifestListingTerms> = { ...manifest.listing_terms };
  const models = manifest.models.map((model): ManifestModel => {
    const { price_changes: changes, ...own } = terms[model.id] ?? {};
    const { pricing, ...rest } = raisedPrices({ ...own, pricing: model.pricing }, raise);
    terms[model.id] = {
      ...rest,
      ...(changes && { price_changes: changes.map((change) => raisedPrices(change, raise)) }),
    };
    return { ...model, pricing };
  });
  const raised = { ...manifest, models, listing_terms: terms };
  const { catalog_source: source } = manifest;
  if (source === undefined) return raised;
  const imported = { ...source.imported, ...importedHashes(manifest, raised) };
  return { ...raised, catalog_source: { ...source, margin_percent: percent, imported } };
}

/** Omits edited listings, which keep their old hash, so that they still count as edited. */
function importedHashes(
  before: Manifest,
  { models, listing_terms: terms }: Manifest,
): Readonly<Record<string, string>> {
  const { imported = {} } = before.catalog_source ?? {};
  const untouched = before.models.filter(
    (model) => listingHash(model, before.listing_terms?.[model.id]) === imported[model.id],
  );
  const ids = new Set(untouched.map(({ id }) => id));
  return Object.fromEntries(
    models
      .filter(({ id }) => ids.has(id))
      .map((model) => [model.id, listingHash(model, terms?.[model.id])]),
  );
}
