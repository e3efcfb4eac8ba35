import type { TSchema } from "typebox";
import { all, at, declares, has, needs, rule, when, type RuleNote } from "./schema-parts.ts";
import { WIRE_B_PROFILE } from "./wire-profile-schema.ts";

function anyModel(condition: TSchema): TSchema {
  return {
    type: "object",
    required: ["models"],
    properties: { models: { type: "array", contains: condition } },
  };
}

function theEndpoint(condition: TSchema): TSchema {
  return { type: "object", required: ["endpoint"], properties: { endpoint: condition } };
}

function everyModel(consequence: TSchema): TSchema {
  return at("models", { type: "array", items: consequence });
}

function everyPrice(consequence: TSchema): TSchema {
  return at("pricing", { type: "array", items: consequence });
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
    everyPrice(
      all(
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
    ),
  ),
);

function mustSpeakWireA(modality: string): TSchema {
  const help = `must be "wire_a": a ${modality} model is listed`;
  return at("dialect", { const: "wire_a", ...rule(`${modality}-dialect`, help) });
}

const videoBilling: RuleNote = rule(
  "video-billing",
  'must declare billing "reported_cost": a video model is listed',
);
const video: TSchema = all(
  needs("billing", videoBilling),
  at("billing", {
    const: "reported_cost",
    ...rule("video-billing", 'must be "reported_cost": a video model is listed'),
  }),
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

const ENVELOPE_HELP =
  'must be of output_modality "decisions": the endpoint has a response_envelope';

/** Where a key would be, were it written down. */
const KEY_FIELDS = ["api_key", "apiKey", "api-key", "key", "token", "secret", "password"];

const noKey: TSchema = {
  not: {},
  ...rule(
    "key-in-manifest",
    "must not be here; name the variable of the key in api_key_env, and revoke that key: " +
      "a manifest is public",
  ),
};

/** The cross-field rules of the manifest, as conditions on the whole document. */
export const CROSS_FIELD_RULES: TSchema[] = [
  ...KEY_FIELDS.map((field) => at("endpoint", at(field, noKey))),
  when(theEndpoint(has("billing", "reported_cost")), reportedCost),
  when(theEndpoint(has("dialect", "wire_b")), at("wire_profile", WIRE_B_PROFILE)),
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
    theEndpoint(declares("response_envelope")),
    everyModel(
      all(
        needs("output_modality", rule("envelope-decisions-only", ENVELOPE_HELP)),
        at("output_modality", {
          const: "decisions",
          ...rule(
            "envelope-decisions-only",
            'must be "decisions": the endpoint has a response_envelope',
          ),
        }),
      ),
    ),
  ),
];
