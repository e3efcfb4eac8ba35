import type { Manifest, ManifestListingTerms, ManifestModel } from "../../catalog/index.ts";
import { listingHash } from "../listing-sources/ids.ts";
import { raisedPrices, withMargin as priceWithMargin } from "../listing-sources/price-text.ts";

/**
 * Replaces a raised price that is too large for a manifest. Validation then refuses this value and
 * names its place.
 */
const TOO_LARGE = "99999999";

/**
 * Puts a margin on every price: customers pay the raised prices, and the provider is owed the
 * prices before the margin. An earlier margin is replaced. A manifest whose provider reports its
 * costs has no prices to raise, and is returned unchanged.
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

/**
 * Computes new hashes for the listings that nobody edited by hand. An edited listing keeps its
 * hash, so that it still counts as edited.
 */
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
