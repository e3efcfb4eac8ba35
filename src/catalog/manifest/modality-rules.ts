import type { TSchema } from "typebox";
import {
  all,
  at,
  declares,
  has,
  mustBe,
  needs,
  rule,
  when,
  type RuleNote,
} from "./schema-parts.ts";

/** Also matches a listing without `output_modality`, which means text. */
const isText: TSchema = at("output_modality", { const: "text" });

function decisionsOnly(field: string): TSchema {
  const missing = `must be of output_modality "decisions" to declare ${field}`;
  const wrong = `must be "decisions" on a listing that declares ${field}`;
  const notes = [rule("decisions-only", missing), rule("decisions-only", wrong)] as const;
  return when(declares(field), all(...mustBe("output_modality", "decisions", ...notes)));
}

function systemoneOnly(field: string): TSchema {
  const help = `must be "systemone" on a listing that declares ${field}`;
  return when(
    declares(field),
    at("decisions_wire", { const: "systemone", ...rule("systemone-only", help) }),
  );
}

const contextLengthRule = rule(
  "context-length-required",
  "must declare context_length: text and decisions listings are bounded by it",
);
const streamingRule = rule("text-streaming", "must declare streaming true: a text listing streams");

const noInputModalities: TSchema = at("input_modalities", {
  not: {},
  ...rule("input-modalities-text-only", "must not be declared: it is for text listings only"),
});

function ceilingRule(listing: string, unit: string): RuleNote {
  const help = `must declare max_output_tokens: ${listing} reserves it per ${unit}`;
  return rule("max-output-tokens-required", help);
}

const parametersRule = rule(
  "supported-parameters-required",
  "must declare supported_parameters: an image or video listing is checked against it",
);

function enumDescriptors(modality: string, names: readonly string[]): Record<string, TSchema> {
  const type = { const: "enum", ...rule(`${modality}-enum`, 'must be "enum" here') };
  return Object.fromEntries(names.map((name) => [name, at("type", type)]));
}

const imageParameters: TSchema = {
  type: "object",
  allOf: [
    needs("n", rule("image-n", "must declare n: how many images one request may ask for")),
    {
      anyOf: [declares("size"), declares("aspect_ratio")],
      ...rule("image-size", "must declare size or aspect_ratio"),
    },
  ],
  properties: enumDescriptors("image", ["size", "aspect_ratio", "quality", "resolution"]),
};

const secondsRule = rule(
  "video-seconds",
  "must declare seconds as type integer with integers min (at least 1), max (at most 120), default",
);
const seconds: TSchema = {
  type: "object",
  required: ["type", "min", "max", "default"],
  properties: {
    type: { const: "integer", ...secondsRule },
    min: { type: "integer", minimum: 1, ...secondsRule },
    max: { type: "integer", maximum: 120, ...secondsRule },
    default: { type: "integer", ...secondsRule },
  },
  ...secondsRule,
};

const videoParameters: TSchema = {
  type: "object",
  required: ["seconds"],
  properties: {
    seconds,
    ...enumDescriptors("video", ["size", "aspect_ratio", "resolution"]),
    generate_audio: at("type", {
      const: "boolean",
      ...rule("video-generate-audio", 'must be "boolean" here'),
    }),
  },
  ...secondsRule,
};

export const MODALITY_RULES: TSchema[] = [
  when(
    isText,
    all(needs("context_length", contextLengthRule), ...mustBe("streaming", true, streamingRule)),
  ),
  when(
    has("output_modality", "image"),
    all(
      needs("max_output_tokens", ceilingRule("an image listing", "image")),
      needs("supported_parameters", parametersRule),
      at("supported_parameters", imageParameters),
      noInputModalities,
    ),
  ),
  when(
    has("output_modality", "video"),
    all(
      needs("max_output_tokens", ceilingRule("a video listing", "second")),
      needs("supported_parameters", parametersRule),
      at("supported_parameters", videoParameters),
      noInputModalities,
    ),
  ),
  when(
    has("output_modality", "decisions"),
    all(needs("context_length", contextLengthRule), noInputModalities),
  ),
  ...[
    "decisions_wire",
    "decisions_path",
    "decisions_state_per_question",
    "decisions_image_parts",
  ].map(decisionsOnly),
  ...["decisions_state_per_question", "decisions_image_parts"].map(systemoneOnly),
];
