import { manifestSchema } from "./manifest-schema.ts";
import { WIRE_PROFILE_RULES } from "./wire-profile-rules.ts";

/** A rule of the manifest, for the reference page and for tests that check all rules. */
export interface ManifestRule {
  readonly id: string;
  /** The rule's sentences, one for each place that states it. */
  readonly texts: readonly string[];
}

/** Every rule id that `validateManifest` can report, with its text; sorted by id. */
export function listManifestRules(): readonly ManifestRule[] {
  const texts = new Map<string, Set<string>>();
  const note = (id: string, text: string): void => {
    const known = texts.get(id) ?? new Set();
    texts.set(id, known.add(text));
  };
  collect(manifestSchema, note);
  for (const [id, text] of Object.entries(OTHER_RULES)) note(id, text);
  return [...texts]
    .map(([id, words]) => ({ id, texts: [...words] }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}

function collect(node: unknown, note: (id: string, text: string) => void): void {
  if (typeof node !== "object" || node === null) return;
  const { "x-rule": id, "x-help": help } = node as Record<string, unknown>;
  if (typeof id === "string" && typeof help === "string") note(id, help);
  for (const child of Object.values(node)) collect(child, note);
}

const OTHER_RULES: Readonly<Record<string, string>> = {
  "json-syntax": "must be JSON; the message gives line and column",
  "json-depth": "must not be nested more than 32 levels deep",
  "json-size": "must be at most 4194304 characters and 100000 values",
  "json-duplicate-key": "must not contain the same key twice in one object",
  required: "must have every field marked required",
  type: "must be of the type given for the field",
  "unknown-field":
    "must not have other fields than the listed ones (price card lines, `listing_terms`, " +
    "`catalog_source` and `wire_profile` only)",
  "key-in-manifest": "must not hold a key value where the name of an environment variable belongs",
  "model-id-variant": 'must not contain ":" in a model id; it is reserved for marketplace variants',
  "model-id-duplicate": "must list each model id once",
  "date-calendar": "must not name a 29 February of a year that has none",
  "url-unreadable": "must have a usable host and port in every URL",
  "terms-unknown-model": "must be terms of a model that the manifest lists",
  "terms-tiers-ascending": "must have tiers with ascending above_prompt_tokens",
  "terms-tier-skus": "must price the same SKUs in every tier as below the first",
  "terms-change-order": "must have price changes with ascending from",
  "terms-change-whole":
    "must declare extra_pricing and purchase_pricing in every change if the listing does",
  "terms-staged-ready": "must not say staged_because of a listing that is ready",
  "terms-text-only": "must not have tiers or extra prices for a listing of another modality",
  "terms-token-billing": "must not change prices where the billing is reported_cost",
  ...WIRE_PROFILE_RULES,
};
