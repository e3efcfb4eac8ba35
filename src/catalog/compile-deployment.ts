import { unreachable } from "../core/assert.ts";
import type { ModelId, ProviderId } from "../core/ids.ts";
import type { Manifest, ManifestDescriptor, ManifestModel } from "../manifest/index.ts";
import type {
  CapabilityDescriptor,
  CapacityDeclaration,
  Deployment,
  NotReadyReason,
} from "./catalog.ts";
import { ownPool } from "./compile-pools.ts";
import { compilePriceSheet } from "./price-sheet.ts";

/** Compiles one listing of a valid manifest, with every default of the specification filled in. */
export function compileDeployment(
  manifest: Manifest,
  model: ManifestModel,
  hasKey: (envName: string) => boolean,
): Deployment {
  const { provider, endpoint, settlement } = manifest;
  const id = `${provider.id}/${model.id}`;
  const notReady = whyNotReady(manifest, model, hasKey);
  const modality = model.output_modality ?? "text";
  const capacity = (model.capacity ?? []).map(compileCapacity);
  return {
    id,
    providerId: provider.id as ProviderId,
    providerName: provider.name,
    modelId: model.id as ModelId,
    upstreamModelId: model.upstream_id ?? model.id,
    resolvesTo: [...(model.resolves_to ?? [])],
    wire: endpoint.dialect,
    modality,
    baseUrl: endpoint.base_url.replace(/\/+$/, ""),
    ...(endpoint.api_key_env !== undefined && { apiKeyEnv: endpoint.api_key_env }),
    priority: provider.priority ?? 0,
    promptLogging: provider.prompt_logging,
    datacenters: [...(model.datacenters ?? [])],
    billing: endpoint.billing ?? "token",
    prices: compilePriceSheet(id, model.pricing),
    inputModalities: new Set(model.input_modalities ?? ["text"]),
    ...(model.context_length !== undefined && { contextLength: model.context_length }),
    ...(model.max_output_tokens !== undefined && { maxOutputTokens: model.max_output_tokens }),
    supportedParameters: compileParameters(model),
    capacity,
    pool: ownPool({ id, modality, capacity }),
    settlement: { mode: settlement.mode, interval: settlement.interval },
    ...(notReady !== undefined && { notReady }),
  };
}

/** `private` comes last: it alone means that the deployment could serve its own endpoint. */
function whyNotReady(
  { provider, endpoint }: Manifest,
  model: ManifestModel,
  hasKey: (envName: string) => boolean,
): NotReadyReason | undefined {
  if (model.is_ready === false) return "staged";
  if (endpoint.api_key_env !== undefined && !hasKey(endpoint.api_key_env)) return "key_missing";
  return provider.listing === "private" ? "private" : undefined;
}

function compileParameters(model: ManifestModel): ReadonlyMap<string, CapabilityDescriptor> {
  const declared = Object.entries(model.supported_parameters ?? {});
  return new Map(declared.map(([name, descriptor]) => [name, compileDescriptor(descriptor)]));
}

/** Keeps the fields that belong to the type; unknown extra ones stay behind. */
function compileDescriptor(declared: ManifestDescriptor): CapabilityDescriptor {
  switch (declared.type) {
    case "boolean":
    case "unknown":
      return { type: declared.type };
    case "range": {
      const { type, min, max } = declared;
      return { type, min, max, ...pick(declared, "default") };
    }
    case "integer":
      return {
        type: declared.type,
        ...pick(declared, "min"),
        ...pick(declared, "max"),
        ...pick(declared, "default"),
        ...pick(declared, "unit"),
      };
    case "enum":
      return { type: declared.type, values: [...declared.values], ...pick(declared, "default") };
    default:
      return unreachable(declared);
  }
}

function pick<T extends object, K extends keyof T>(from: T, key: K): Pick<T, K> | undefined {
  return Object.hasOwn(from, key) ? ({ [key]: from[key] } as Pick<T, K>) : undefined;
}

function compileCapacity({ type, per, value }: CapacityDeclaration): CapacityDeclaration {
  return { type, per, value };
}
