import type { Manifest, ManifestListingTerms, ManifestModel } from "../../catalog/index.ts";
import { readServedModel } from "../../kernel/index.ts";

/** Splits listings by whether the provider's own list of models (`servedIds`) has them. */
export function splitServed(
  { models }: Manifest,
  servedIds: readonly string[],
): { readonly served: readonly ManifestModel[]; readonly unserved: readonly ManifestModel[] } {
  const known = new Set(servedIds);
  const isServed = (model: ManifestModel): boolean => {
    const { id, upstream_id: upstreamModelId = id, resolves_to: resolvesTo = [] } = model;
    if (known.has(upstreamModelId)) return true;
    // Some providers list only dated snapshots of a name, but accept the name without a date.
    const names = { upstreamModelId, resolvesTo };
    return servedIds.some((served) => readServedModel(names, served)?.isSubstituted === false);
  };
  return {
    served: models.filter(isServed),
    unserved: models.filter((model) => !isServed(model)),
  };
}

/** With `isChosen`, the manifest records the ids, so a later import adds no other listings. */
export function withListings(
  manifest: Manifest,
  models: readonly ManifestModel[],
  isChosen = false,
): Manifest {
  const kept = new Set(models.map(({ id }) => id));
  const { listing_terms: terms, catalog_source: source, ...rest } = manifest;
  return {
    ...rest,
    ...(source && {
      catalog_source: {
        ...source,
        ...(isChosen && { models: models.map(({ id }) => id) }),
        imported: pickEntries(source.imported, kept),
      },
    }),
    models,
    ...(terms && { listing_terms: pickEntries(terms, kept) }),
  };
}

function pickEntries<V>(
  record: Readonly<Record<string, V>>,
  kept: ReadonlySet<string>,
): Readonly<Record<string, V>> {
  return Object.fromEntries(Object.entries(record).filter(([id]) => kept.has(id)));
}

export interface NamedDeployment {
  readonly upstreamId: string;
  readonly model: ManifestModel;
}

/** Lists `model` under a deployment's own name. Limits and prices are those of `model`. */
export function deploymentListing({ upstreamId, model }: NamedDeployment): ManifestModel {
  const { upstream_id: own = model.id, resolves_to: others = [] } = model;
  const resolvesTo = [...new Set([own, ...others])].filter((name) => name !== upstreamId);
  return { ...model, upstream_id: upstreamId, resolves_to: resolvesTo };
}

/** Drops `checked`: a check of the maker's price page says nothing about another provider. */
export function deploymentTerms({
  checked: _checked,
  ...terms
}: ManifestListingTerms): ManifestListingTerms {
  return terms;
}
