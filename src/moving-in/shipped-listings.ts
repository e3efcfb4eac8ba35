import type { Manifest, ManifestModel } from "../catalog/index.ts";
import { marketplaceId } from "../listing-sources/index.ts";
import type { SourcedListing } from "./price-listing.ts";
import type { MovedDeployment } from "./read-deployments.ts";

/**
 * Finds the listing of a deployment in manifests: of the same provider at its own address, and of
 * the model that it names, or that the reviewed table of ids knows under that name.
 */
export function shippedListings(
  manifests: readonly Manifest[],
): (deployment: MovedDeployment) => SourcedListing | undefined {
  return ({ head, upstreamId, baseUrl }) => {
    const { origin } = new URL(baseUrl);
    const known = manifests.find(({ provider, endpoint }) => {
      return provider.id === head.provider.id && new URL(endpoint.base_url).origin === origin;
    });
    const texts = known?.models.filter((each) => (each.output_modality ?? "text") === "text") ?? [];
    const id = marketplaceId(head.provider.id, upstreamId);
    const model =
      texts.find((each) => nameOf(each) === upstreamId) ?? texts.find((each) => each.id === id);
    if (model === undefined) return undefined;
    const terms = known?.listing_terms?.[model.id];
    return terms === undefined ? { model } : { model, terms };
  };
}

function nameOf({ id, upstream_id: upstreamId }: ManifestModel): string {
  return upstreamId ?? id;
}
