import { Type, type TUnsafe } from "typebox";
import { capacitySchema } from "./capacity-schema.ts";
import { descriptorSchema } from "./descriptor-schema.ts";
import type { ManifestDescriptor, ManifestModel } from "./manifest.ts";
import { MODALITY_RULES } from "./modality-rules.ts";
import { priceCardSchema, pricingSchema } from "./price-schema.ts";
import { dateText, oneOf, patterns, positiveInteger, rule, typedAs } from "./schema-parts.ts";

const ID_HELP = "must be a letter or digit followed by at most 127 letters, digits or . _ / -";

const model = Type.Object(
  {
    id: Type.String({
      pattern: patterns.modelId,
      description:
        "Marketplace id; routed, and sent upstream verbatim unless `upstream_id` is set.",
      ...rule("model-id", ID_HELP),
    }),
    display_name: Type.Optional(Type.String({ description: "Name shown to buyers." })),
    output_modality: Type.Optional(
      oneOf(["text", "image", "video", "decisions"], {
        default: "text",
        description: "What the model produces; it determines the route that serves it.",
        ...rule("output-modality", 'must be "text", "image", "video" or "decisions"'),
      }),
    ),
    decisions_wire: Type.Optional(
      oneOf(["systemone", "gliner"], {
        default: "systemone",
        description: "Question grammar buyers send. Decisions listings only.",
        ...rule("decisions-wire", 'must be "systemone" or "gliner"'),
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
        oneOf(["text", "image", "file", "audio", "video"], {
          description: "A kind of message part.",
          ...rule("input-modality", 'must be "text", "image", "file", "audio" or "video"'),
        }),
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
      positiveInteger({
        description:
          "Maximum tokens of prompt and output together. Required for text and decisions.",
        ...rule("context-length", "must be an integer greater than 0"),
      }),
    ),
    max_output_tokens: Type.Optional(
      positiveInteger({
        description:
          "Text: maximum output tokens. Image: ceiling per image. Video: ceiling per second. " +
          "In micro-dollars under `reported_cost`. Required for image and video.",
        ...rule("max-output-tokens", "must be an integer greater than 0"),
      }),
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
      dateText({
        description: "After this day, the next build removes the listing from the catalog.",
      }),
    ),
    released: Type.Optional(
      dateText({ description: "Used to sort lists, newest first; routing does not use it." }),
    ),
  },
  { title: "Model", description: "One listing.", allOf: MODALITY_RULES },
);

/** One element of `models`: its fields, and the rules of its modality. */
export const modelSchema: TUnsafe<ManifestModel> = typedAs<ManifestModel>()(model);
