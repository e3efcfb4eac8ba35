import type { LimitChange } from "../accounts/index.ts";
import { invalidRequest, refused, type Refused, type Result } from "../core/index.ts";
import {
  JsonDocument,
  type JsonNode,
  NUMBER_KIND,
  readJsonObject,
  WordTable,
} from "../json/index.ts";

/** The checked body of `POST /api/admission-limits`: one limit, and what changes about it. */
export interface LimitRequest {
  readonly scope: "org" | "key" | "model";
  /** As sent; whether the caller may name it is not checked here. */
  readonly keyId?: string;
  /** Only and always with scope `model`; as sent. */
  readonly modelId?: string;
  /** Whole numbers of at least 1, or null; at least one of them. */
  readonly change: LimitChange;
}

/** Reads a body, or gives the 400 that names the field and what it has to be. */
export function readLimitRequest(body: Buffer): Result<{ readonly request: LimitRequest }> {
  const read = readJsonObject(body, WORDS);
  if (!read.ok) return read;
  const { doc } = read;
  const fields = membersOf(doc);
  if (!fields.ok) return fields;
  const { members } = fields;
  const named = readScope(doc, members);
  if (!named.ok) return named;
  const { scope } = named;
  const key = readText(doc, members, "key_id");
  if (!key.ok) return key;
  const model = readText(doc, members, "model");
  if (!model.ok) return model;
  const keyId = key.text;
  const modelId = model.text;
  const misplaced = placementProblem(scope, keyId, modelId);
  if (misplaced !== undefined) return invalid(misplaced);
  const changed = readChange(doc, members);
  if (!changed.ok) return changed;
  const request: LimitRequest = {
    scope,
    ...(keyId === undefined ? {} : { keyId }),
    ...(modelId === undefined ? {} : { modelId }),
    change: changed.change,
  };
  return { ok: true, request };
}

function invalid(message: string): Refused {
  return refused(invalidRequest(message));
}

/** What the body calls a limit, and what the rest of the program does. */
export const LIMIT_NAMES = {
  rpm: "requestsPerMinute",
  tpm: "tokensPerMinute",
  concurrency: "concurrent",
} as const;

/** The names of limits in a body. */
export const LIMIT_LABELS = ["rpm", "tpm", "concurrency"] as const;

/** The only key that is refused wherever it is has to be known to the scan. */
const WORDS = new WordTable(["__proto__"]);

const FIELDS: readonly string[] = ["scope", "key_id", "model", ...LIMIT_LABELS];
const SCOPES = ["org", "key", "model"] as const;
const ECHOED_CHARS_MAX = 64;

type Members = ReadonlyMap<string, JsonNode>;

function membersOf(doc: JsonDocument): Result<{ readonly members: Members }> {
  const members = new Map<string, JsonNode>();
  for (const key of doc.keys(0)) {
    const name = doc.text(key);
    if (!FIELDS.includes(name)) {
      const shown = name.slice(0, ECHOED_CHARS_MAX);
      return invalid(`${shown} is not a field of this route; it accepts ${FIELDS.join(", ")}`);
    }
    if (members.has(name)) return invalid(`${name} is duplicated; send it once`);
    members.set(name, doc.valueOf(key));
  }
  return { ok: true, members };
}

function readScope(
  doc: JsonDocument,
  members: Members,
): Result<{ readonly scope: LimitRequest["scope"] }> {
  const node = members.get("scope");
  const choice = SCOPES.map((each) => JSON.stringify(each)).join(" or ");
  if (node === undefined) return invalid(`scope is missing; send ${choice}`);
  const text = doc.isString(node) ? doc.text(node) : undefined;
  const scope = SCOPES.find((each) => each === text);
  return scope === undefined ? invalid(`scope must be ${choice}`) : { ok: true, scope };
}

function readText(
  doc: JsonDocument,
  members: Members,
  name: "key_id" | "model",
): Result<{ readonly text: string | undefined }> {
  const node = members.get(name);
  if (node === undefined) return { ok: true, text: undefined };
  const text = doc.isString(node) ? doc.text(node) : "";
  return text === "" ? invalid(`${name} must be a non-empty string`) : { ok: true, text };
}

function placementProblem(
  scope: LimitRequest["scope"],
  keyId: string | undefined,
  modelId: string | undefined,
): string | undefined {
  if (scope === "model") {
    return modelId === undefined
      ? 'model is missing; scope "model" needs the id of one'
      : undefined;
  }
  if (modelId !== undefined) {
    return `model does not go with scope "${scope}"; leave it out, or set scope to "model"`;
  }
  return scope === "org" && keyId !== undefined
    ? 'key_id does not go with scope "org"; leave it out, or set scope to "key"'
    : undefined;
}

function readChange(doc: JsonDocument, members: Members): Result<{ readonly change: LimitChange }> {
  const change: { -readonly [name in keyof LimitChange]: LimitChange[name] } = {};
  for (const word of LIMIT_LABELS) {
    const node = members.get(word);
    if (node === undefined) continue;
    const value = doc.isNull(node) ? null : wholeNumber(doc, node);
    if (value === undefined) {
      return invalid(`${word} must be a whole number of at least 1, or null to remove your limit`);
    }
    change[LIMIT_NAMES[word]] = value;
  }
  if (Object.keys(change).length > 0) return { ok: true, change };
  return invalid(
    "rpm, tpm and concurrency are all missing; send at least one, or null to remove your limit",
  );
}

function wholeNumber(doc: JsonDocument, node: JsonNode): number | undefined {
  if (doc.kind(node) !== NUMBER_KIND) return undefined;
  const value = doc.number(node);
  return Number.isInteger(value) && value >= 1 ? value : undefined;
}
