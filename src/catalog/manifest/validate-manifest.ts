import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";

import {
  cutText,
  JSON_DEPTH_MAX,
  JSON_VALUES_MAX,
  type JsonFlaw,
  placeName,
  pointerTo,
  readJson,
  textOf,
} from "../../kernel/index.ts";
import { beyondSchema } from "./beyond-schema.ts";
import type { ManifestProblem } from "./schema-parts.ts";
import { type Manifest, manifestSchema } from "./manifest-schema.ts";

/** The typed manifest, or all problems (at least one), sorted by pointer. */
export type ManifestVerdict =
  | { readonly ok: true; readonly manifest: Manifest }
  | { readonly ok: false; readonly problems: readonly ManifestProblem[] };

/** Maximum length in UTF-16 units: thousands of listings. A longer text is not even parsed. */
const MANIFEST_CHARS_MAX = 4_194_304;

/**
 * Checks the text of a provider manifest and, if it is JSON, reports all problems at once. Messages
 * name the field and the next step, and repeat no value, which may be a key pasted by mistake.
 */
export function validateManifest(text: string): ManifestVerdict {
  if (text.length > MANIFEST_CHARS_MAX) return toRefusal(tooLarge);
  const reading = readJson(text.startsWith("\uFEFF") ? text.slice(1) : text);
  if (!reading.ok) return toRefusal(notJson(reading.flaw));
  const { value, duplicateKeys } = reading;
  const problems = distinct([
    ...duplicateKeys.map(duplicateKey),
    ...schemaProblems(value),
    ...beyondSchema(value),
  ]);
  // The cast is safe, because the document has passed the schema.
  return problems.length === 0
    ? { ok: true, manifest: value as Manifest }
    : { ok: false, problems };
}

const tooLarge: ManifestProblem = {
  pointer: "",
  rule: "json-size",
  message: `the manifest must be at most ${MANIFEST_CHARS_MAX} characters; split it by provider`,
};

function toRefusal(problem: ManifestProblem): ManifestVerdict {
  return { ok: false, problems: [problem] };
}

function notJson({ rule, line, column, expected }: JsonFlaw): ManifestProblem {
  const place = `line ${line}, column ${column}`;
  const messages: Readonly<Record<typeof rule, string>> = {
    "json-syntax": `the manifest is not valid JSON at ${place}: expected ${expected} there`,
    "json-depth": `the manifest is nested too deep at ${place}; use at most ${JSON_DEPTH_MAX} levels`,
    "json-size": `the manifest has over ${JSON_VALUES_MAX} values at ${place}; split it by provider`,
  };
  return { pointer: "", rule, message: messages[rule] };
}

function duplicateKey(pointer: string): ManifestProblem {
  const message =
    "this key is duplicated in its object; remove one, because parsers disagree on which one counts";
  return { pointer, rule: "json-duplicate-key", message };
}

let compiled: ValidateFunction | undefined;

function schemaProblems(value: unknown): ManifestProblem[] {
  compiled ??= compileSchema();
  if (compiled(value)) return [];
  return (compiled.errors ?? []).filter(isCause).map(toManifestProblem);
}

/** Skips validating the schema and optimizing its code, which saves a fifth of the startup time. */
const COMPILED_QUICKLY = { meta: false, validateSchema: false, code: { optimize: false } } as const;

function compileSchema(): ValidateFunction {
  const options = { allErrors: true, verbose: true, allowUnionTypes: true };
  const ajv = new Ajv2020({ ...options, ...COMPILED_QUICKLY });
  ajv.addVocabulary(["x-rule", "x-help"]);
  return ajv.compile(manifestSchema);
}

/** False for an error that repeats another: one of `if`, or of a part of `contains` or `anyOf`. */
function isCause({ keyword, schemaPath }: ErrorObject): boolean {
  return keyword !== "if" && !/\/(?:contains|anyOf)\/./.test(schemaPath);
}

const inOrder = new Intl.Collator("en", { numeric: true });

function distinct(problems: readonly ManifestProblem[]): ManifestProblem[] {
  const keyed = problems.map((problem): [string, ManifestProblem] => [
    `${problem.pointer} ${problem.rule} ${problem.message}`,
    problem,
  ]);
  return [...new Map(keyed).values()]
    .map((problem) => ({ ...problem, pointer: problem.pointer.split("/").map(cutText).join("/") }))
    .sort((a, b) => inOrder.compare(a.pointer, b.pointer));
}

interface SchemaNode {
  readonly "x-rule"?: string;
  readonly "x-help"?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
}

function toManifestProblem(error: ErrorObject): ManifestProblem {
  const node = (error.parentSchema ?? {}) as SchemaNode;
  const pointer = error.instancePath;
  if (error.keyword === "additionalProperties") return unknownField(error);
  const { "x-rule": id, "x-help": help } = node;
  if (id === undefined || help === undefined) return generalProblem(error, node);
  const special = SPECIAL_CASES[id]?.(textOf(error.data));
  const { rule = id, message } = special ?? { message: help };
  return { pointer, rule, message: `${placeName(pointer)} ${message}` };
}

function unknownField(error: ErrorObject): ManifestProblem {
  const field = String(error.params["additionalProperty"]);
  return {
    pointer: error.instancePath + pointerTo([field]),
    rule: "unknown-field",
    message: "this field must not be here; remove it, or check its spelling",
  };
}

function generalProblem(error: ErrorObject, node: SchemaNode): ManifestProblem {
  const pointer = error.instancePath;
  const name = placeName(pointer);
  if (error.keyword === "required") {
    const field = String(error.params["missingProperty"]);
    const about = node.properties?.[field]?.description;
    const hint = about === undefined ? "" : ` (${about.replace(/\.$/, "")})`;
    return { pointer, rule: "required", message: `${name} must have the field ${field}${hint}` };
  }
  return { pointer, rule: error.keyword, message: `${name} ${error.message ?? "is not valid"}` };
}

interface SpecialCase {
  readonly rule?: string;
  readonly message: string;
}

/** Better messages, by rule id, for texts that show which mistake the author made. */
const SPECIAL_CASES: Readonly<Record<string, (text: string) => SpecialCase | undefined>> = {
  "api-key-env": pastedKey,
  url: userInformation,
  "base-url": userInformation,
  "model-id": variantId,
  "price-decimals": (text) => tooManyDigits(text, { whole: 7, fraction: 6 }),
  "price-card-decimals": (text) => tooManyDigits(text, { whole: 6, fraction: 9 }),
};

function pastedKey(text: string): SpecialCase | undefined {
  if (!KEY_PREFIX.test(text) && !KEY_FORM.test(text)) return undefined;
  const message =
    "holds what looks like a key; write the NAME of the environment variable instead, " +
    "and revoke that key: a manifest is public";
  return { rule: "key-in-manifest", message };
}

const KEY_PREFIX = /^(?:sk|pk|rk|tm_vk|key|gsk|xai|hf|Bearer)[-_ ]/;
const KEY_FORM = /^(?=\S*[0-9])(?=\S*[A-Za-z])\S{20,}$/;

function variantId(text: string): SpecialCase | undefined {
  if (!text.includes(":")) return undefined;
  const message =
    'must not contain ":", which is reserved for marketplace variants; ' +
    "put a provider variant into upstream_id";
  return { rule: "model-id-variant", message };
}

function userInformation(text: string): SpecialCase | undefined {
  if (!/^https?:\/\/[^/?#]*@/.test(text)) return undefined;
  const message =
    "must not hold user information (user:password@); name the variable of the key in " +
    "api_key_env, and revoke that password: a manifest is public";
  return { rule: "key-in-manifest", message };
}

function tooManyDigits(
  text: string,
  most: { readonly whole: number; readonly fraction: number },
): SpecialCase | undefined {
  const match = /^([0-9]+)(?:\.([0-9]+))?$/.exec(text);
  if (match === null) return undefined;
  const [, whole = "", fraction = ""] = match;
  if (fraction.length > most.fraction) {
    const found = `has ${fraction.length} fraction digits; ${most.fraction} is the most`;
    return { message: `${found}: round it, or shorten trailing zeros` };
  }
  return { message: `has ${whole.length} digits before the point; ${most.whole} is the most` };
}
