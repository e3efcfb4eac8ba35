import {
  type Manifest,
  type ManifestListingTerms,
  type ManifestModel,
  validateManifest,
} from "../../catalog/index.ts";
import { defined } from "../../kernel/index.ts";
import { isModelId } from "../listing-sources/entry-rules.ts";
import { ceilingBody, headHistory } from "../listing-sources/provider-heads.ts";
import type { Fates } from "./fates.ts";
import { type ListingFinder, type PriceOrigin, priceListing } from "./price-listing.ts";
import type { MovedDeployment } from "./read-deployments.ts";
import { shortText } from "./setting-tree.ts";

export interface MovedListing {
  /** Path in the configuration, such as `model_list[2]`. */
  readonly path: MovedDeployment["path"];
  readonly id: string;
  readonly providerId: string;
  readonly upstreamId: string;
  readonly isReady: boolean;
  readonly pricesFrom: PriceOrigin;
  readonly stagedBecause: readonly string[];
  readonly capacity: MovedDeployment["capacity"];
}

interface Group {
  readonly key: string;
  readonly manifest: Omit<Manifest, "models" | "listing_terms">;
  readonly models: Map<string, ManifestModel>;
  readonly terms: Map<string, ManifestListingTerms>;
}

/** Builds valid manifests, in the order of the configuration. */
export function buildManifests(
  deployments: readonly MovedDeployment[],
  finder: ListingFinder,
  fates: Fates,
): { readonly manifests: readonly Manifest[]; readonly listings: readonly MovedListing[] } {
  const groups: Group[] = [];
  const listings = deployments.flatMap((deployment) => {
    const { model, terms, origin } = priceListing(deployment, finder, fates);
    const placed = deployment.names.flatMap((id): Placement[] => {
      if (!isModelId(id)) return [];
      const listing = buildListing(deployment, id, model);
      const sold = { listing, terms: withHeadTerms(deployment, listing, terms) };
      return [place(deployment, sold, groups)];
    });
    noteListing(deployment, origin, placed, fates);
    return placed.flatMap((each) => (each.ok ? [{ ...each.listing, pricesFrom: origin }] : []));
  });
  const manifests = groups.map(({ manifest, models, terms }): Manifest => ({
    ...manifest,
    models: [...models.values()],
    ...(terms.size > 0 && { listing_terms: Object.fromEntries(terms) }),
  }));
  return { manifests, listings };
}

function buildListing(
  deployment: MovedDeployment,
  id: string,
  model: ManifestModel,
): ManifestModel {
  const { upstreamId, baseModel, capacity } = deployment;
  const other = [...(model.resolves_to ?? []), ...(baseModel ?? "").split("/").slice(-1)];
  const resolvesTo = [...new Set(other)].filter((each) => isModelId(each) && each !== id);
  const rpm = capacity.requestsPerMinute;
  // A configured name that is only the end of the marketplace id is not the provider's own name.
  const isOurs = model.id.endsWith(`/${upstreamId}`);
  return {
    ...model,
    id,
    upstream_id: (isOurs ? model.upstream_id : undefined) ?? upstreamId,
    ...(resolvesTo.length > 0 && { resolves_to: resolvesTo }),
    ...(rpm !== undefined && { capacity: [{ type: "request", per: "minute", value: rpm }] }),
  };
}

/**
 * Adds what the head says of this model. A provider that can choose dearer endpoints gets the
 * listing's prices as the ceiling.
 */
function withHeadTerms(
  { head, isProvidersOwn, upstreamId }: MovedDeployment,
  { pricing }: ManifestModel,
  terms: ManifestListingTerms | undefined,
): ManifestListingTerms | undefined {
  const body = isProvidersOwn ? ceilingBody(head, pricing) : undefined;
  const added = { ...defined({ body, history: headHistory(head, upstreamId) }), ...terms };
  return Object.keys(added).length === 0 ? terms : added;
}

type Placed = Omit<MovedListing, "pricesFrom">;

type Placement =
  | { readonly ok: true; readonly listing: Placed }
  /** `problem` says why the listing would be invalid; absent if an equal listing exists already. */
  | { readonly ok: false; readonly problem?: string };

/** Adds the listing to its account's first manifest that lacks this id, or to a new manifest. */
function place(
  deployment: MovedDeployment,
  { listing, terms }: { listing: ManifestModel; terms: ManifestListingTerms | undefined },
  groups: Group[],
): Placement {
  const { head, baseUrl, keyName, priority, path, capacity } = deployment;
  const { upstream_id: upstreamId = deployment.upstreamId } = listing;
  const key = [head.provider.id, baseUrl, keyName ?? "", String(priority ?? "")].join(" ");
  const alike = groups.filter((group) => group.key === key);
  const same = alike.find(({ models }) => models.get(listing.id)?.upstream_id === upstreamId);
  if (same !== undefined) return { ok: false };
  const known = alike.find(({ models }) => !models.has(listing.id));
  const group = known ?? createGroup(deployment, key, groups);
  const { manifest } = group;
  const problem = manifestProblem({
    ...manifest,
    models: [listing],
    ...(terms && { listing_terms: { [listing.id]: terms } }),
  });
  if (problem !== undefined) return { ok: false, problem };
  if (known === undefined) groups.push(group);
  group.models.set(listing.id, listing);
  if (terms !== undefined) group.terms.set(listing.id, terms);
  return {
    ok: true,
    listing: {
      path,
      id: listing.id,
      providerId: manifest.provider.id,
      upstreamId,
      isReady: listing.is_ready !== false,
      stagedBecause: terms?.staged_because ?? [],
      capacity,
    },
  };
}

function createGroup(deployment: MovedDeployment, key: string, groups: readonly Group[]): Group {
  const { head, baseUrl, keyName, priority, isProvidersOwn } = deployment;
  const taken = new Set(groups.map(({ manifest }) => manifest.provider.id));
  const isNamed = isProvidersOwn && head.use !== "local";
  const host = new URL(baseUrl).host;
  const id = freeId(isNamed ? head.provider.id : idOfHost(host), taken);
  const { provider, settlement, wire_profile: profile, endpoint } = head;
  const { privacy_policy_url: privacy = PLACEHOLDER_URL, ...known } = provider;
  return {
    key,
    models: new Map(),
    terms: new Map(),
    manifest: {
      manifest_version: "1",
      provider: {
        ...(isNamed ? known : { name: host, prompt_logging: "retained" as const }),
        id,
        privacy_policy_url: isNamed ? privacy : PLACEHOLDER_URL,
        ...defined({ priority }),
      },
      endpoint: {
        base_url: baseUrl,
        dialect: endpoint.dialect,
        ...defined({ api_key_env: keyName }),
      },
      settlement,
      ...defined({ wire_profile: profile }),
    },
  };
}

/** Placeholder for the operator's privacy policy, which LiteLLM's configuration lacks. */
const PLACEHOLDER_URL = "https://example.com/privacy";

const PROVIDER_ID_CHARS_MAX = 56;

function idOfHost(host: string): string {
  const id = host
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, PROVIDER_ID_CHARS_MAX)
    .replaceAll(/^-+|-+$/g, "");
  return id.length < 2 ? `server-${id}` : id;
}

function freeId(wanted: string, taken: ReadonlySet<string>): string {
  let id = wanted;
  for (let at = 2; taken.has(id); at += 1) id = `${wanted}-${at}`;
  return id;
}

function noteListing(
  deployment: MovedDeployment,
  origin: PriceOrigin,
  placed: readonly Placement[],
  fates: Fates,
): void {
  const { path, names } = deployment;
  const [name = ""] = names;
  const listed = placed.flatMap((each) => (each.ok ? [each.listing] : []));
  const problem = placed.flatMap((each) => (each.ok ? [] : (each.problem ?? [])))[0];
  const [first] = listed;
  if (problem !== undefined) {
    fates.notCarried(path, {
      what: `the model ${shortText(name)}`,
      why: `its listing would not be valid: ${shortText(problem)}`,
      next: "correct the entry and import again",
    });
  } else if (!isModelId(name)) {
    fates.notCarried([...path, "model_name"], {
      what: `the name ${shortText(name)}`,
      why: "an id is a letter or digit and at most 127 letters, digits or . _ / - behind it",
      next: "give the model another name, and change it in the clients",
    });
  } else if (first === undefined) {
    fates.ignored(path, {
      what: `the model ${name}`,
      why: "another deployment has the same name, provider, key and model: one listing serves both",
    });
  } else {
    const state = first.isReady ? "" : `, staged: ${first.stagedBecause.join(", ")}`;
    fates.carried([...path, "model_name"], {
      what: `the model ${name}`,
      why: `listed as ${first.id} by ${first.providerId}${state}; ${ORIGINS[origin]}`,
      next: first.isReady ? "" : stagedNext(first.stagedBecause, deployment),
    });
  }
  noteAddress(deployment, fates);
}

function noteAddress({ path, baseUrl, isProvidersOwn, head }: MovedDeployment, fates: Fates): void {
  if (isProvidersOwn && head.use !== "local") return;
  for (const field of ["api_base", "base_url"]) {
    fates.carried([...path, "litellm_params", field], {
      why: `${new URL(baseUrl).host} is a provider of its own here`,
      next: "put its privacy policy into provider.privacy_policy_url, and check prompt_logging",
    });
  }
}

const ORIGINS: Readonly<Record<PriceOrigin, string>> = {
  shipped: "limits and prices are those of the shipped listing",
  price_file: "limits and prices are those of the price file",
  config: "limits and prices are those of the configuration",
  none: "its price is not known",
};

/** By reason for staging: the step by which the operator makes the listing ready. */
const READY_BY: Readonly<Record<string, string>> = {
  "no-price":
    "write its price into the configuration (input_cost_per_token, output_cost_per_token), or give --prices",
  "no-limit": "write max_input_tokens into the configuration",
  "base-model": "compare the prices of its base model with your contract",
  "one-source": "compare its prices with the provider's page, as only one list has them",
  "sources-differ": "compare its prices with the provider's page, as the lists differ",
  "old-agreement": "compare its prices with the provider's page, as the lists are old",
  dated: "enter the announced price as price_changes",
  "time-of-day": "decide to sell at the price of the dearest hour",
  preview: "decide to sell a preview, whose price may change",
  "request-fee": "leave it: its fee per request is not billed",
};

const OWN_SERVER_PRICE =
  "say what you ask for your own server: write input_cost_per_token and output_cost_per_token (0 gives it away)";

function stagedNext(
  reasons: readonly string[],
  { head, isProvidersOwn, baseModel }: MovedDeployment,
): string {
  const isOwnServer = head.use === "local" || !isProvidersOwn;
  const said = reasons.map((reason) => {
    if (reason === "no-price" && isOwnServer) return OWN_SERVER_PRICE;
    const next = READY_BY[reason] ?? `read about ${reason} in docs/catalog.md`;
    const isUnnamed = reason === "no-price" && head.provider.id === "azure" && !baseModel;
    return isUnnamed ? `name its base model (model_info.base_model), or ${next}` : next;
  });
  const isWritten = reasons.every((reason) => reason === "no-price" || reason === "no-limit");
  const end = isWritten
    ? "and import again"
    : "then set is_ready to true and remove staged_because";
  return `${said.join("; ")}; ${end}`;
}

function manifestProblem(manifest: Manifest): string | undefined {
  const verdict = validateManifest(JSON.stringify(manifest));
  const [first] = verdict.ok ? [] : verdict.problems;
  return first && `${first.pointer}: ${first.message}`;
}
