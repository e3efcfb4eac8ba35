import type { Manifest, ManifestModel } from "../../catalog/index.ts";
import { marketplaceId } from "../listing-sources/ids.ts";
import { undatedName } from "../listing-sources/entry-rules.ts";
import { findHead } from "../listing-sources/provider-heads.ts";
import type { SourcedListing } from "./price-listing.ts";
import type { MovedDeployment } from "./read-deployments.ts";

/**
 * Finds a deployment's listing in manifests of the same provider at the same origin. The listing
 * must have the deployment's model name, with or without its date, or the marketplace id of that
 * name. An Azure deployment gets OpenAI's listing of its base model, but staged, because Azure's
 * prices are in the operator's contract.
 */
export function shippedListings(
  manifests: readonly Manifest[],
): (deployment: MovedDeployment) => SourcedListing | undefined {
  return (deployment) => {
    const { head, upstreamId, baseUrl, baseModel } = deployment;
    if (head.provider.id === "azure") return ofBaseModel(manifests, baseModel);
    const { origin } = new URL(baseUrl);
    const known = manifests.find(({ provider, endpoint }) => {
      return provider.id === head.provider.id && new URL(endpoint.base_url).origin === origin;
    });
    return known && listingNamed(known, head.provider.id ?? "", upstreamId);
  };
}

function ofBaseModel(
  manifests: readonly Manifest[],
  baseModel: string | undefined,
): SourcedListing | undefined {
  const lab = manifests.find(({ provider }) => provider.id === "openai");
  if (lab === undefined || baseModel === undefined) return undefined;
  const found = listingNamed(lab, "openai", baseModel.slice(baseModel.lastIndexOf("/") + 1));
  if (found === undefined) return undefined;
  const { checked: _ofTheLab, ...terms } = found.terms ?? {};
  return {
    model: { ...found.model, is_ready: false },
    terms: { ...terms, staged_because: ["base-model"] },
  };
}

function listingNamed(
  { models, listing_terms: terms = {} }: Manifest,
  providerId: string,
  upstreamId: string,
): SourcedListing | undefined {
  const texts = models.filter(isText);
  const names = [upstreamId, undatedName(upstreamId) ?? upstreamId];
  const model =
    names.flatMap((name) => texts.find((each) => nameOf(each) === name) ?? [])[0] ??
    names.flatMap((name) => {
      const id = marketplaceId(providerId, name);
      return texts.find((each) => each.id === id) ?? [];
    })[0];
  if (model === undefined) return undefined;
  const own = terms[model.id];
  return own === undefined ? { model } : { model, terms: own };
}

/** Ids of the text listings of one provider, or of all if undefined. Ready ones come first. */
export function shippedIds(
  manifests: readonly Manifest[],
): (providerId: string | undefined) => readonly string[] {
  return (providerId) => {
    const models = manifests
      .filter(({ provider: { id } }) => findHead(id) && (providerId ?? id) === id)
      .flatMap((each) => each.models.filter(isText));
    const ready = models.filter((each) => each.is_ready !== false);
    return [...new Set([...ready, ...models].map(({ id }) => id))];
  };
}

function isText({ output_modality: modality = "text" }: ManifestModel): boolean {
  return modality === "text";
}

function nameOf({ id, upstream_id: upstreamId }: ManifestModel): string {
  return upstreamId ?? id;
}
