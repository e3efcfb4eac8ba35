import { type TSchema, type TString, Type } from "typebox";

import { asObject } from "../../kernel/index.ts";
import { modelSchema } from "./model-schema.ts";
import {
  type Accepted,
  all,
  at,
  declares,
  has,
  hasSuch,
  mustBe,
  needs,
  oneOf,
  patterns,
  rule,
  urlText,
  when,
} from "./schema-parts.ts";
import { catalogSourceSchema } from "./source-schema.ts";
import { listingTermsSchema } from "./terms-schema.ts";
import { WIRE_B_HISTORY, WIRE_B_PROFILE, wireProfileSchema } from "./wire-profile-schema.ts";

function anyModel(condition: TSchema): TSchema {
  return hasSuch("models", { type: "array", contains: condition });
}

function everyModel(consequence: TSchema): TSchema {
  return at("models", { type: "array", items: consequence });
}

function exactPrice(sku: string, cost: string): TSchema {
  const help = `must be exactly "${cost}" for ${sku}: reported cost is billed in micro-dollars`;
  return when(
    has("type", sku),
    at("cost_usd_per_million", { const: cost, ...rule("reported-cost-prices", help) }),
  );
}

const reportedCost: TSchema = everyModel(
  all(
    needs(
      "price_card",
      rule("reported-cost-price-card", "must have a price_card: billing is reported_cost"),
    ),
    at("pricing", {
      type: "array",
      items: all(
        at("type", {
          enum: ["prompt", "completion"],
          ...rule(
            "reported-cost-prices",
            'must be "prompt" or "completion": reported cost has no other SKU',
          ),
        }),
        exactPrice("prompt", "0"),
        exactPrice("completion", "1"),
      ),
    }),
  ),
);

function mustSpeakWireA(modality: string): TSchema {
  const help = `must be "wire_a": a ${modality} model is listed`;
  return at("dialect", { const: "wire_a", ...rule(`${modality}-dialect`, help) });
}

const video: TSchema = all(
  ...mustBe(
    "billing",
    "reported_cost",
    rule("video-billing", 'must declare billing "reported_cost": a video model is listed'),
    rule("video-billing", 'must be "reported_cost": a video model is listed'),
  ),
  mustSpeakWireA("video"),
);

const decisions: TSchema = all(
  at("billing", {
    const: "token",
    ...rule("decisions-billing", 'must be "token": a decisions model is listed'),
  }),
  mustSpeakWireA("decisions"),
);

const decisionsWithoutPath: TSchema = {
  ...has("output_modality", "decisions"),
  not: { required: ["decisions_path"] },
};

const ENVELOPE_RULE = "envelope-decisions-only";

const KEY_FIELDS = ["api_key", "apiKey", "api-key", "key", "token", "secret", "password"];

const noKey: TSchema = {
  not: {},
  ...rule(
    "key-in-manifest",
    "must not be here; name the variable of the key in api_key_env, and revoke that key: " +
      "a manifest is public",
  ),
};

const CROSS_FIELD_RULES: TSchema[] = [
  ...KEY_FIELDS.map((field) => at("endpoint", at(field, noKey))),
  when(hasSuch("endpoint", has("billing", "reported_cost")), reportedCost),
  when(hasSuch("endpoint", has("dialect", "wire_b")), at("wire_profile", WIRE_B_PROFILE)),
  when(
    hasSuch("endpoint", has("dialect", "wire_b")),
    at("listing_terms", { type: "object", additionalProperties: WIRE_B_HISTORY }),
  ),
  when(anyModel(has("output_modality", "video")), at("endpoint", video)),
  when(anyModel(has("output_modality", "decisions")), at("endpoint", decisions)),
  when(
    anyModel(decisionsWithoutPath),
    at(
      "endpoint",
      needs(
        "decisions_path",
        rule(
          "decisions-path",
          "must declare decisions_path: a decisions model has none of its own",
        ),
      ),
    ),
  ),
  when(
    hasSuch("endpoint", declares("response_envelope")),
    everyModel(
      all(
        ...mustBe(
          "output_modality",
          "decisions",
          rule(
            ENVELOPE_RULE,
            'must be of output_modality "decisions": the endpoint has a response_envelope',
          ),
          rule(ENVELOPE_RULE, 'must be "decisions": the endpoint has a response_envelope'),
        ),
      ),
    ),
  ),
];

const provider = Type.Object(
  {
    id: Type.String({
      pattern: patterns.providerId,
      description: "Names the provider in routing, in the ledger and in settlement.",
      ...rule(
        "provider-id",
        "must be 2 to 63 lower-case letters, digits or hyphens, and not start with a hyphen",
      ),
    }),
    name: Type.String({
      minLength: 1,
      description: "Name shown to buyers.",
      ...rule("provider-name", "must be a string that is not empty"),
    }),
    privacy_policy_url: urlText("Shown to buyers."),
    terms_of_service_url: Type.Optional(urlText("Shown to buyers.")),
    status_page_url: Type.Optional(urlText("Shown to buyers.")),
    priority: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 100,
        default: 0,
        description:
          "Lower is tried first among providers of one model: 0 for a first-party lab, 1 for an " +
          "aggregator.",
        ...rule("provider-priority", "must be an integer from 0 to 100"),
      }),
    ),
    prompt_logging: oneOf("prompt-logging", ["none", "retained"], {
      description: "What happens to prompts; disclosed to buyers.",
    }),
    listing: Type.Optional(
      oneOf("listing", ["public", "private"], {
        default: "public",
        description: "`private` is dedicated capacity: compiled, never routed or listed publicly.",
      }),
    ),
  },
  { title: "Provider", description: "Who serves and settles." },
);
export type ManifestProvider = Accepted<typeof provider>;

function pathText(description: string, standard?: string): TString {
  return Type.String({
    pattern: patterns.path,
    description,
    ...(standard === undefined ? {} : { default: standard }),
    ...rule("endpoint-path", 'must be a lower-case path such as "/images/generations"'),
  });
}

const endpoint = Type.Object(
  {
    base_url: Type.String({
      pattern: patterns.baseUrl,
      description: "Up to and including the version segment.",
      ...rule(
        "base-url",
        "must be a URI that starts with http:// or https:// and has no user information, no query " +
          "and no fragment",
      ),
    }),
    dialect: Type.Unsafe<`wire_${string}`>({
      type: "string",
      enum: ["wire_a", "wire_b"],
      description: "The chat wire: `wire_a` is Chat Completions, `wire_b` is Messages.",
      ...rule("dialect", 'must be "wire_a" or "wire_b"'),
    }),
    api_key_env: Type.Optional(
      Type.String({
        pattern: patterns.envName,
        description: "NAME of the environment variable that holds the key; never the key itself.",
        ...rule(
          "api-key-env",
          'must be the name of an environment variable, such as "ACME_API_KEY"',
        ),
      }),
    ),
    images_path: Type.Optional(pathText("Image endpoint under `base_url`.", "/images/generations")),
    videos_path: Type.Optional(
      pathText("Video jobs under `base_url`: POST, GET `{path}/{id}`, GET `…/content`.", "/videos"),
    ),
    decisions_path: Type.Optional(
      pathText("Decisions endpoint under `base_url`, for models without a path of their own."),
    ),
    response_envelope: Type.Optional(
      oneOf("response-envelope", ["envelope_v4"], {
        description:
          "How answers are wrapped; absent means they are not. Decisions endpoints only.",
      }),
    ),
    billing: Type.Optional(
      oneOf("billing", ["token", "reported_cost"], {
        default: "token",
        description:
          "`reported_cost`: the provider reports its own cost in USD, and that cost is billed.",
      }),
    ),
  },
  { title: "Endpoint", description: "Where requests are sent, and in which format." },
);
export type ManifestEndpoint = Accepted<typeof endpoint>;

const settlement = Type.Object(
  {
    mode: oneOf("settlement-mode", ["prepaid", "arrears"], {
      description: "Deducted from a deposit, or invoiced afterwards.",
    }),
    interval: oneOf("settlement-interval", ["half_daily", "daily", "weekly", "monthly"], {
      description: "Period of a statement, in UTC.",
    }),
    billing_contact: Type.Optional(
      Type.String({
        pattern: patterns.email,
        description: "E-mail address.",
        ...rule("billing-contact", "must be an e-mail address"),
      }),
    ),
  },
  { title: "Settlement", description: "How the provider is paid." },
);
export type ManifestSettlement = Accepted<typeof settlement>;

const manifest = Type.Object(
  {
    manifest_version: Type.Literal("1", {
      description: "Always `1`.",
      ...rule("manifest-version", 'must be the string "1"'),
    }),
    provider,
    endpoint,
    settlement,
    models: Type.Array(modelSchema, {
      minItems: 1,
      description: "The listings; each id once.",
      ...rule("models-count", "must list at least one model"),
    }),
    catalog_source: Type.Optional(catalogSourceSchema),
    listing_terms: Type.Optional(listingTermsSchema),
    wire_profile: Type.Optional(wireProfileSchema),
  },
  {
    title: "Provider manifest",
    description: "What a provider publishes to be listed. Extra top-level properties are allowed.",
    allOf: CROSS_FIELD_RULES,
  },
);

/** The document that a provider publishes to be listed, without defaults filled in. */
export type Manifest = Accepted<typeof manifest>;

/**
 * The schema behind the manifest's types, published schema, validator and reference page. A schema
 * node with a rule has the rule's id in `x-rule` and an instruction to the author in `x-help`.
 */
export const manifestSchema: TSchema = manifest;

/** Returns the published schema: plain JSON Schema 2020-12 with rule ids in `$comment`. */
export function publishedSchema(): Record<string, unknown> {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    ...(plain(manifestSchema) as Record<string, unknown>),
  };
}

function plain(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(plain);
  const fields = asObject(node);
  if (fields === undefined) return node;
  const entries = Object.entries(fields).flatMap(([key, value]): [string, unknown][] => {
    if (key === "x-help") return [];
    if (key === "x-rule") return [["$comment", `rule ${String(value)}`]];
    return [[key, plain(value)]];
  });
  return Object.fromEntries(entries);
}
