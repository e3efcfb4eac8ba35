import { type RawJson, type RawObject, textOf } from "../../kernel/index.ts";
import { importListings, type SourceInput } from "../listing-sources/import-listings.ts";
import { isImportable, type ProviderHead } from "../listing-sources/provider-heads.ts";
import { undatedName } from "../listing-sources/entry-rules.ts";
import type { SourcedListing } from "./price-listing.ts";
import type { MovedDeployment } from "./read-deployments.ts";

/**
 * Finds the listing of a deployment in LiteLLM's price file: of the same provider, and of exactly
 * the model that it names, or of the one behind it.
 */
export function priceFileListings(
  source: Omit<SourceInput, "from">,
): (deployment: MovedDeployment) => SourcedListing | undefined {
  const entries = source.document instanceof Map ? (source.document as RawObject) : undefined;
  return ({ head, prefix, isProvidersOwn, upstreamId, baseModel }) => {
    // Another server's prices are not those of the provider whose wire it speaks.
    if (!isProvidersOwn || entries === undefined) return undefined;
    const behind = baseModel === undefined ? [] : [baseModel, `${prefix}/${baseModel}`];
    const undated = undatedName(upstreamId);
    const named = undated === undefined ? [upstreamId] : [upstreamId, undated];
    for (const key of [...named.flatMap((each) => [`${prefix}/${each}`, each]), ...behind]) {
      const found = listingOf(entries, { key, head, prefix, source });
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

/** The listing of one entry. It is read alone: beside a newer version it would be its twin. */
function listingOf(
  entries: RawObject,
  of: {
    readonly key: string;
    readonly head: ProviderHead;
    readonly prefix: string;
    readonly source: Omit<SourceInput, "from">;
  },
): SourcedListing | undefined {
  const { key, prefix, source } = of;
  const entry = entries.get(key);
  const provider = providerOf(entry);
  // A family has several names in the file: "bedrock", "bedrock_converse".
  if (entry === undefined || provider?.startsWith(prefix.split("_")[0] ?? "") !== true) {
    return undefined;
  }
  const head = { ...of.head, sources: { litellm: provider } };
  if (!isImportable(head)) return undefined;
  const { manifest } = importListings({
    head,
    source: { ...source, from: "litellm", document: new Map([[key, entry]]) },
    against: [],
    models: [],
    withCapacity: false,
  });
  const model = manifest?.models[0];
  if (model === undefined) return undefined;
  const terms = manifest?.listing_terms?.[model.id];
  return terms === undefined ? { model } : { model, terms };
}

function providerOf(entry: RawJson | undefined): string | undefined {
  const provider = entry instanceof Map ? (entry as RawObject).get("litellm_provider") : undefined;
  return textOf(provider) || undefined;
}
