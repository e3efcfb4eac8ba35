import { Type, type TSchema, type TUnsafe } from "typebox";
import { CROSS_FIELD_RULES } from "./cross-field-rules.ts";
import type {
  Manifest,
  ManifestEndpoint,
  ManifestProvider,
  ManifestSettlement,
} from "./manifest.ts";
import { modelSchema } from "./model-schema.ts";
import { oneOf, patterns, rule, typedAs, urlText } from "./schema-parts.ts";
import { catalogSourceSchema } from "./source-schema.ts";
import { listingTermsSchema } from "./terms-schema.ts";
import { wireProfileSchema } from "./wire-profile-schema.ts";

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
    privacy_policy_url: Type.Unsafe<string>(urlText({ description: "Shown to buyers." })),
    terms_of_service_url: Type.Optional(
      Type.Unsafe<string>(urlText({ description: "Shown to buyers." })),
    ),
    status_page_url: Type.Optional(
      Type.Unsafe<string>(urlText({ description: "Shown to buyers." })),
    ),
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
    prompt_logging: oneOf(["none", "retained"], {
      description: "What happens to prompts; disclosed to buyers.",
      ...rule("prompt-logging", 'must be "none" or "retained"'),
    }),
    listing: Type.Optional(
      oneOf(["public", "private"], {
        default: "public",
        description: "`private` is dedicated capacity: compiled, never routed or listed publicly.",
        ...rule("listing", 'must be "public" or "private"'),
      }),
    ),
  },
  { title: "Provider", description: "Who serves and settles." },
);

function pathText(description: string, standard?: string): TUnsafe<string> {
  return Type.Unsafe<string>(
    Type.String({
      pattern: patterns.path,
      description,
      ...(standard === undefined ? {} : { default: standard }),
      ...rule("endpoint-path", 'must be a lower-case path such as "/images/generations"'),
    }),
  );
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
    dialect: Type.Unsafe<ManifestEndpoint["dialect"]>({
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
      oneOf(["envelope_v4"], {
        description:
          "How answers are wrapped; absent means they are not. Decisions endpoints only.",
        ...rule("response-envelope", 'must be "envelope_v4"'),
      }),
    ),
    billing: Type.Optional(
      oneOf(["token", "reported_cost"], {
        default: "token",
        description:
          "`reported_cost`: the provider reports its own cost in USD, and that cost is billed.",
        ...rule("billing", 'must be "token" or "reported_cost"'),
      }),
    ),
  },
  { title: "Endpoint", description: "Where requests are sent, and in which format." },
);

const settlement = Type.Object(
  {
    mode: oneOf(["prepaid", "arrears"], {
      description: "Deducted from a deposit, or invoiced afterwards.",
      ...rule("settlement-mode", 'must be "prepaid" or "arrears"'),
    }),
    interval: oneOf(["half_daily", "daily", "weekly", "monthly"], {
      description: "Period of a statement, in UTC.",
      ...rule("settlement-interval", 'must be "half_daily", "daily", "weekly" or "monthly"'),
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

const manifest = Type.Object(
  {
    manifest_version: Type.Literal("1", {
      description: "Always `1`.",
      ...rule("manifest-version", 'must be the string "1"'),
    }),
    provider: typedAs<ManifestProvider>()(provider),
    endpoint: typedAs<ManifestEndpoint>()(endpoint),
    settlement: typedAs<ManifestSettlement>()(settlement),
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

/**
 * The one source of the manifest: types, published schema, validator and reference page come from
 * it. Beside plain JSON Schema each rule carries `x-rule` (its id) and `x-help` (what to do).
 */
export const manifestSchema: TUnsafe<Manifest> = typedAs<Manifest>()(manifest);

/** The schema as published: plain JSON Schema 2020-12, rule ids as comments. */
export function publishedSchema(): Record<string, unknown> {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    ...(plain(manifestSchema) as Record<string, unknown>),
  };
}

function plain(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(plain);
  if (typeof node !== "object" || node === null) return node;
  const entries = Object.entries(node as TSchema).flatMap(([key, value]): [string, unknown][] => {
    if (key === "x-help") return [];
    if (key === "x-rule") return [["$comment", `rule ${String(value)}`]];
    return [[key, plain(value)]];
  });
  return Object.fromEntries(entries);
}
