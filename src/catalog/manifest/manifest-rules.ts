import { asObject, membersOf, textOf } from "../../kernel/index.ts";
import { BEYOND_SCHEMA_RULES } from "./beyond-schema.ts";
import { manifestSchema } from "./manifest-schema.ts";

export interface ManifestRule {
  readonly id: string;
  /** All texts of the rule. Schema nodes with the same rule id can have different texts. */
  readonly texts: readonly string[];
}

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
  const { "x-rule": id, "x-help": help } = asObject(node) ?? {};
  if (id !== undefined) note(textOf(id), textOf(help));
  for (const [, child] of membersOf(node) ?? []) collect(child, note);
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
  ...BEYOND_SCHEMA_RULES,
};
