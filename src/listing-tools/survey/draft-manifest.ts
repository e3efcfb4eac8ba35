import type { Manifest, ManifestModel } from "../../catalog/index.ts";
import { assert, defined, OUTPUT_TOKENS_MAX } from "../../kernel/index.ts";
import {
  findHead,
  headHistory,
  headParameters,
  type ProviderHead,
} from "../listing-sources/provider-heads.ts";
import { modelName, type ServerKind, type SurveyedModel } from "./surveyed-model.ts";

export interface OwnEndpoint {
  readonly providerId: string;
  readonly providerName: string;
  /** Address of the operator's own policy: a server program has none. */
  readonly privacyPolicyUrl: string;
  readonly kind: ServerKind;
  readonly baseUrl: string;
  readonly dialect: string;
  readonly apiKeyEnv?: string;
  readonly settlement: Manifest["settlement"];
  /** USD per million tokens, as decimal texts. */
  readonly promptPrice: string;
  readonly completionPrice: string;
}

export type ListableModel = SurveyedModel & { readonly contextLength: number };

/** All models have one price, are tried first, log no prompts, and declare no capacity. */
export function draftManifest(own: OwnEndpoint, models: readonly ListableModel[]): Manifest {
  const head = chooseHead(own.kind);
  const drafted = models.map((model) => draftModel(own, head, model));
  const terms = drafted.flatMap(({ id, upstream_id: name = id }) => {
    const history = headHistory(head, name);
    return history === undefined ? [] : [[id, { history }] as const];
  });
  return {
    manifest_version: "1",
    provider: {
      id: own.providerId,
      name: own.providerName,
      privacy_policy_url: own.privacyPolicyUrl,
      priority: 0,
      prompt_logging: "none",
      listing: "public",
    },
    endpoint: {
      base_url: own.baseUrl,
      dialect: own.dialect as Manifest["endpoint"]["dialect"],
      ...defined({ api_key_env: own.apiKeyEnv }),
    },
    settlement: own.settlement,
    ...defined({ wire_profile: head.wire_profile }),
    models: drafted,
    ...(terms.length > 0 && { listing_terms: Object.fromEntries(terms) }),
  };
}

/** An unknown kind of server gets the head of llama.cpp, whose parameters every kind accepts. */
function chooseHead(kind: ServerKind): ProviderHead {
  const head = findHead(kind === "other" ? "llama-cpp" : kind);
  assert(head !== undefined, "every kind of server has a head");
  return head;
}

function draftModel(own: OwnEndpoint, head: ProviderHead, model: ListableModel): ManifestModel {
  const { upstreamId, contextLength, quantization, readsImages, callsTools } = model;
  const outputTokens = Math.min(contextLength, OUTPUT_TOKENS_MAX);
  return {
    id: `${own.providerId}/${modelName(upstreamId)}`,
    upstream_id: upstreamId,
    display_name: modelName(upstreamId),
    input_modalities: readsImages === true ? ["text", "image"] : ["text"],
    context_length: contextLength,
    max_output_tokens: outputTokens,
    streaming: true,
    ...defined({ quantization }),
    supported_parameters: headParameters(head, {
      reasons: false,
      sampling: true,
      tools: callsTools === true,
      structured: false,
      maxOutputTokens: outputTokens,
    }),
    pricing: [
      { type: "prompt", unit: "token", cost_usd_per_million: own.promptPrice },
      { type: "completion", unit: "token", cost_usd_per_million: own.completionPrice },
    ],
  };
}
