import { assert, defined, type ModelId, type ProviderId, unreachable } from "../kernel/index.ts";
import type { ManifestFile } from "./catalog-input.ts";
import type {
  CapabilityDescriptor,
  DecisionsListing,
  Deployment,
  ImageTokens,
  NotReadyReason,
  PriceCardLine,
} from "./catalog.ts";
import { ownPool } from "./compile-pools.ts";
import type {
  Manifest,
  ManifestDescriptor,
  ManifestListingTerms,
  ManifestModel,
  ManifestPriceCardLine,
} from "./manifest/index.ts";
import { pricesAt } from "./deployment-copy.ts";
import { computeAge, endOfDay, isOlderThan } from "./price-notes.ts";
import { compileDatedPrices } from "./price-sheet.ts";
import { compileFixedBody, compileWireProfile } from "./wire-profile.ts";

export interface DeploymentSettings {
  readonly hasKey: (envName: string) => boolean;
  /** False if the manifest's `api_key_env` names a key that may only be sent to another origin. */
  readonly mayHaveKey: boolean;
  /** True if the operator wants decision requests in the provider's public API format. */
  readonly publicForm: (providerId: string) => boolean;
  readonly nowMs: number;
  /** Listings whose price check is older than this are not routed; Infinity: all are routed. */
  readonly staleAfterDays: number;
}

/** Compiles one listing of a valid manifest and fills in every default of the specification. */
export function compileDeployment(
  { manifest, sha256 }: Pick<ManifestFile, "manifest" | "sha256">,
  model: ManifestModel,
  { hasKey, mayHaveKey, publicForm, nowMs, staleAfterDays }: DeploymentSettings,
): Deployment {
  const { provider, endpoint, settlement } = manifest;
  const id = `${provider.id}/${model.id}`;
  const terms = listingTerms(manifest, model);
  const checked = terms?.checked && {
    ...terms.checked,
    ...computeAge(terms.checked.on, nowMs, staleAfterDays),
  };
  const isStale = checked !== undefined && isOlderThan(checked.on, staleAfterDays, nowMs);
  const notReady = readinessProblem(manifest, model, { hasKey, mayHaveKey, isStale });
  const modality = model.output_modality ?? "text";
  const capacity = (model.capacity ?? []).map(({ type, per, value }) => ({ type, per, value }));
  const billing = endpoint.billing ?? "token";
  // Reported cost makes token prices meaningless, so a change of `billing` must change the pin.
  const pinned = billing === "token" ? [id] : [id, billing];
  const dated = compileDatedPrices(pinned, model.pricing, terms);
  const { prices, defaultedSkus } = pricesAt(dated, nowMs) ?? dated[0];
  const fixedBody = compileFixedBody(manifest.wire_profile?.body, terms?.body);
  return {
    id,
    providerId: provider.id as ProviderId,
    providerName: provider.name,
    modelId: model.id as ModelId,
    manifestSha256: sha256,
    upstreamModelId: model.upstream_id ?? model.id,
    resolvesTo: [...(model.resolves_to ?? [])],
    wire: endpoint.dialect,
    modality,
    baseUrl: endpoint.base_url.replace(/\/+$/, ""),
    priority: provider.priority ?? 0,
    promptLogging: provider.prompt_logging,
    datacenters: [...(model.datacenters ?? [])],
    billing,
    prices,
    inputModalities: new Set(model.input_modalities ?? ["text"]),
    supportedParameters: compileParameters(model),
    imagesPath: endpoint.images_path ?? "/images/generations",
    videosPath: endpoint.videos_path ?? "/videos",
    priceCard: (model.price_card ?? []).map(toPriceCardLine),
    capacity,
    pool: ownPool({ id, modality, capacity }, provider.listing === "private"),
    settlement: { mode: settlement.mode, interval: settlement.interval },
    ...defined({
      // A key that belongs to another origin is left out. It is not enough that the deployment is
      // not routed: the gateway still polls its old video jobs, and would send the key to the wrong
      // origin.
      apiKeyEnv: mayHaveKey ? endpoint.api_key_env : undefined,
      defaultedSkus: defaultedSkus.length > 0 ? defaultedSkus : undefined,
      datedPrices: dated.length > 1 ? dated : undefined,
      checked,
      endsMs: model.deprecation_date === undefined ? undefined : endOfDay(model.deprecation_date),
      contextLength: model.context_length,
      maxOutputTokens: model.max_output_tokens,
      imageTokens: toImageTokens(terms?.image_tokens),
      decisions:
        modality === "decisions" ? compileDecisions(manifest, model, publicForm) : undefined,
      quantization: model.quantization,
      wireProfile: compileWireProfile(manifest, terms?.history),
      fixedBody: fixedBody.length > 0 ? fixedBody : undefined,
      notReady,
    }),
  };
}

function toPriceCardLine({
  unit,
  cost_usd: costUsd,
  billable,
  variant,
}: ManifestPriceCardLine): PriceCardLine {
  return { unit, costUsd, ...defined({ billable, variant }) };
}

function toImageTokens(
  declared: ManifestListingTerms["image_tokens"],
): readonly ImageTokens[] | undefined {
  if (typeof declared === "number") return [{ tokens: declared }];
  return declared?.map((each) => ({ ...each }));
}

export function listingTerms(
  { listing_terms: terms = {} }: Manifest,
  { id }: ManifestModel,
): ManifestListingTerms | undefined {
  return Object.hasOwn(terms, id) ? terms[id] : undefined;
}

/** Reports a missing key before `private`, because a dedicated endpoint needs the key too. */
function readinessProblem(
  { provider, endpoint }: Manifest,
  model: ManifestModel,
  {
    hasKey,
    mayHaveKey,
    isStale,
  }: Pick<DeploymentSettings, "hasKey" | "mayHaveKey"> & { readonly isStale: boolean },
): NotReadyReason | undefined {
  if (model.is_ready === false) return "staged";
  if (!mayHaveKey) return "key_elsewhere";
  if (endpoint.api_key_env !== undefined && !hasKey(endpoint.api_key_env)) return "key_missing";
  if (provider.listing === "private") return "private";
  return isStale ? "stale" : undefined;
}

function compileDecisions(
  { provider, endpoint }: Manifest,
  model: ManifestModel,
  publicForm: DeploymentSettings["publicForm"],
): DecisionsListing {
  const path = model.decisions_path ?? endpoint.decisions_path;
  assert(path !== undefined, "a valid decisions listing has a path");
  return {
    wire: model.decisions_wire ?? "systemone",
    path,
    isStatePerQuestion: model.decisions_state_per_question === true,
    readsImages: model.decisions_image_parts === true,
    ...defined({ envelope: endpoint.response_envelope }),
    form: publicForm(provider.id) ? "public" : "as_sent",
  };
}

function compileParameters(model: ManifestModel): ReadonlyMap<string, CapabilityDescriptor> {
  const declared = Object.entries(model.supported_parameters ?? {});
  return new Map(declared.map(([name, descriptor]) => [name, compileDescriptor(descriptor)]));
}

function compileDescriptor(declared: ManifestDescriptor): CapabilityDescriptor {
  switch (declared.type) {
    case "boolean":
    case "unknown":
      return { type: declared.type };
    case "range": {
      const { type, min, max, default: usual } = declared;
      return { type, min, max, ...defined({ default: usual }) };
    }
    case "integer": {
      const { type, min, max, default: usual, unit } = declared;
      return { type, ...defined({ min, max, default: usual, unit }) };
    }
    case "enum": {
      const { type, values, default: usual } = declared;
      return { type, values: [...values], ...defined({ default: usual }) };
    }
    default:
      return unreachable(declared);
  }
}
