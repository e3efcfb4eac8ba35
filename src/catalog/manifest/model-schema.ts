import { type TSchema, type TUnsafe, Type } from "typebox";

import { MODALITY_RULES } from "./modality-rules.ts";
import { priceCardSchema, pricingSchema } from "./price-schema.ts";
import {
  type Accepted,
  all,
  dateText,
  has,
  hasSuch,
  needs,
  oneOf,
  patterns,
  positiveInteger,
  rule,
  when,
} from "./schema-parts.ts";

const TYPES = ["request", "prompt", "completion"] as const;
const WINDOWS = ["minute", "hour", "day"] as const;

const unitRule = rule("capacity-unit", 'must have unit "token" for type prompt and completion');

const capacity = Type.Object(
  {
    type: oneOf("capacity-type", TYPES, { description: "What is limited." }),
    unit: Type.Optional(
      Type.Literal("token", {
        description: "`token`; required for `prompt` and `completion`.",
        ...rule("capacity-unit", 'must be "token"'),
      }),
    ),
    per: oneOf("capacity-window", WINDOWS, { description: "The window." }),
    value: positiveInteger("capacity-value", "Maximum requests or tokens in one window."),
  },
  {
    title: "CapacityEntry",
    description: "A declared rate limit.",
    allOf: [when(hasSuch("type", { enum: ["prompt", "completion"] }), needs("unit", unitRule))],
  },
);

function atMostOne(type: string, per: string): TSchema {
  return {
    contains: {
      type: "object",
      required: ["type", "per"],
      properties: { type: { const: type }, per: { const: per } },
    },
    minContains: 0,
    maxContains: 1,
    ...rule("capacity-duplicate", `must not declare ${type} per ${per} more than once`),
  };
}

export type ManifestCapacity = Accepted<typeof capacity>;

const capacitySchema = Type.Array(capacity, {
  allOf: TYPES.flatMap((type) => WINDOWS.map((per) => atMostOne(type, per))),
  description: "Declared rate limits, one per type and window; absent means undeclared, not zero.",
});

const rangeRule = rule(
  "descriptor-range",
  "must have the numbers min and max; default is a number",
);
const integerRule = rule(
  "descriptor-integer",
  "may have only integers as min, max and default, and a string as unit",
);
const enumRule = rule(
  "descriptor-enum",
  "must have values, a list of at least one string; default is a string",
);

const number: TSchema = { type: "number", ...rangeRule };
const integer: TSchema = { type: "integer", ...integerRule };
const word: TSchema = { type: "string", ...enumRule };

const PER_TYPE: readonly TSchema[] = [
  when(has("type", "range"), {
    type: "object",
    required: ["min", "max"],
    properties: { min: number, max: number, default: number },
    ...rangeRule,
  }),
  when(has("type", "integer"), {
    type: "object",
    properties: {
      min: integer,
      max: integer,
      default: integer,
      unit: { type: "string", ...integerRule },
    },
  }),
  when(has("type", "enum"), {
    type: "object",
    required: ["values"],
    properties: { values: { type: "array", minItems: 1, items: word, ...enumRule }, default: word },
    ...enumRule,
  }),
];

/** The values that a parameter may have; `unknown`: the listing does not say which. */
export type ManifestDescriptor =
  | { readonly type: "boolean" | "unknown" }
  | {
      readonly type: "range";
      readonly min: number;
      readonly max: number;
      readonly default?: number;
    }
  | {
      readonly type: "integer";
      readonly min?: number;
      readonly max?: number;
      readonly default?: number;
      readonly unit?: string;
    }
  | { readonly type: "enum"; readonly values: readonly string[]; readonly default?: string };

const descriptorSchema: TUnsafe<ManifestDescriptor> = Type.Unsafe<ManifestDescriptor>({
  title: "Descriptor",
  description: "How one request parameter may be set.",
  type: "object",
  required: ["type"],
  properties: {
    type: oneOf("descriptor-type", ["boolean", "range", "integer", "enum", "unknown"], {
      description: "`boolean` and `unknown` have no further fields.",
    }),
    min: { description: "`range`: number, required. `integer`: integer." },
    max: { description: "`range`: number, required. `integer`: integer." },
    default: { description: "`range`: number. `integer`: integer. `enum`: string." },
    unit: { description: "`integer`: string." },
    values: { description: "`enum`: list of at least one string, required." },
  },
  ...all(...PER_TYPE),
});

const INPUT_MODALITIES = ["text", "image", "file", "audio", "video"] as const;
export type ManifestInputModality = (typeof INPUT_MODALITIES)[number];

const ID_HELP = "must be a letter or digit followed by at most 127 letters, digits or . _ / -";

export const modelSchema = Type.Object(
  {
    id: Type.String({
      pattern: patterns.modelId,
      description:
        "Marketplace id; routed, and sent upstream verbatim unless `upstream_id` is set.",
      ...rule("model-id", ID_HELP),
    }),
    display_name: Type.Optional(Type.String({ description: "Name shown to buyers." })),
    description: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 160,
        description:
          "One sentence for buyers about the model; absent means one made of what the listing declares.",
        ...rule("model-description", "must be a sentence of 1 to 160 characters"),
      }),
    ),
    output_modality: Type.Optional(
      oneOf("output-modality", ["text", "image", "video", "decisions"], {
        default: "text",
        description: "What the model produces; it determines the route that serves it.",
      }),
    ),
    decisions_wire: Type.Optional(
      oneOf("decisions-wire", ["systemone", "gliner"], {
        default: "systemone",
        description: "Question grammar buyers send. Decisions listings only.",
      }),
    ),
    decisions_path: Type.Optional(
      Type.String({
        pattern: patterns.path,
        description:
          "This model's own path under `base_url`; absent means the endpoint's. " +
          "Decisions listings only.",
        ...rule("endpoint-path", 'must be a lower-case path such as "/decide"'),
      }),
    ),
    decisions_state_per_question: Type.Optional(
      Type.Boolean({
        description:
          "The provider bills the state once per question, and so does the reserve. " +
          "Systemone decisions listings only.",
      }),
    ),
    decisions_image_parts: Type.Optional(
      Type.Boolean({
        description:
          "The provider reads `image_url` objects as images; without it such bodies are refused. " +
          "Systemone decisions listings only.",
      }),
    ),
    input_modalities: Type.Optional(
      Type.Array(
        oneOf("input-modality", INPUT_MODALITIES, { description: "A kind of message part." }),
        {
          uniqueItems: true,
          contains: { const: "text" },
          description:
            "Kinds of message parts the listing accepts; absent means text only. Text listings only.",
          ...rule("input-modalities", 'must be a list without repeats that contains "text"'),
        },
      ),
    ),
    context_length: Type.Optional(
      positiveInteger(
        "context-length",
        "Maximum tokens of prompt and output together. Required for text and decisions.",
      ),
    ),
    max_output_tokens: Type.Optional(
      positiveInteger(
        "max-output-tokens",
        "Text: maximum output tokens. Image: ceiling per image. Video: ceiling per second. " +
          "In micro-dollars under `reported_cost`. Required for image and video.",
      ),
    ),
    price_card: Type.Optional(priceCardSchema),
    quantization: Type.Optional(Type.String({ description: "Such as `fp8`; shown to buyers." })),
    resolves_to: Type.Optional(
      Type.Array(
        Type.String({
          pattern: patterns.modelId,
          description: "An id.",
          ...rule("resolves-to", ID_HELP),
        }),
        {
          description:
            "Other ids that the endpoint may report as `model`. Dated snapshots of the same id need " +
            "no entry.",
        },
      ),
    ),
    streaming: Type.Optional(
      Type.Boolean({ description: "Must be true for text listings; ignored for image and video." }),
    ),
    supported_parameters: Type.Optional(
      Type.Unsafe<Readonly<Record<string, ManifestDescriptor>>>({
        type: "object",
        additionalProperties: descriptorSchema,
        description: "Parameter name to descriptor; an absent name means unsupported.",
      }),
    ),
    pricing: pricingSchema,
    capacity: Type.Optional(capacitySchema),
    datacenters: Type.Optional(
      Type.Array(
        Type.String({
          pattern: patterns.country,
          description: "A country.",
          ...rule("datacenter", "must be two upper-case letters (ISO 3166-1 alpha-2)"),
        }),
        { description: "Countries where inference may run." },
      ),
    ),
    upstream_id: Type.Optional(
      Type.String({
        pattern: patterns.upstreamId,
        description: "The id the endpoint expects, where it differs from `id`.",
        ...rule("upstream-id", `${ID_HELP}; one variant suffix such as ":fast" may follow`),
      }),
    ),
    is_ready: Type.Optional(
      Type.Boolean({
        default: true,
        description: "False means staged: validated and tested, never routed.",
      }),
    ),
    deprecation_date: Type.Optional(
      dateText("After this day, the next build removes the listing from the catalog."),
    ),
    released: Type.Optional(dateText("Used to sort lists, newest first; routing does not use it.")),
  },
  { title: "Model", description: "One listing.", allOf: MODALITY_RULES },
);

/** One listing: a model that the provider serves. Defaults are not filled in. */
export type ManifestModel = Accepted<typeof modelSchema>;
