import {
  invalidRequest,
  type JsonDocument,
  readJsonObject,
  refused,
  type Refused,
  type Result,
  type SchemaCheck,
  schemaCheck,
  WordTable,
} from "../../kernel/index.ts";
import type { LimitChange } from "../accounts/account-store.ts";
import {
  LIMIT_NAMES,
  LIMIT_WORDS,
  LimitChange as Body,
  LimitValues,
  NamedLimit,
} from "./contract/limit-change.ts";

/** The checked body of `POST /api/admission-limits`: one limit and its changes. */
export interface LimitRequest {
  readonly scope: NamedLimit["scope"];
  /** As sent; whether the caller may name it is not checked here. */
  readonly keyId?: string;
  /** Present if and only if the scope is `model`; as sent. */
  readonly modelId?: string;
  /** Whole numbers of at least 1, or null to remove a limit; at least one field is set. */
  readonly change: LimitChange;
}

/** Reads a body, or gives the 400 that names the field and what it has to be. */
export function readLimitRequest(body: Buffer): Result<{ readonly request: LimitRequest }> {
  const read = readJsonObject(body, WORDS);
  if (!read.ok) return read;
  const misnamed = findNameProblem(read.doc);
  if (misnamed !== undefined) return invalid(misnamed);
  const fields = JSON.parse(body.toString()) as NamedLimit & LimitValues;
  const problem =
    findProblem(checkNamed, fields) ??
    findPlacementProblem(fields) ??
    findProblem(checkValues, fields);
  if (problem !== undefined) return invalid(problem);
  const words = LIMIT_WORDS.filter((word) => fields[word] !== undefined);
  if (words.length === 0) return invalid(NOTHING_CHANGES);
  const { scope, key_id: keyId, model: modelId } = fields;
  const request: LimitRequest = {
    scope,
    ...(keyId === undefined ? {} : { keyId }),
    ...(modelId === undefined ? {} : { modelId }),
    change: Object.fromEntries(words.map((word) => [LIMIT_NAMES[word], fields[word]])),
  };
  return { ok: true, request };
}

function invalid(message: string): Refused {
  return refused(invalidRequest(message));
}

/** The only key that is refused wherever it is has to be known to the scan. */
const WORDS = new WordTable(["__proto__"]);
const MESSAGES = { missing: 'is missing; send "org" or "key" or "model"', unknown: "" };
const checkNamed = schemaCheck(NamedLimit, MESSAGES);
const checkValues = schemaCheck(LimitValues, MESSAGES);
const NOTHING_CHANGES =
  "rpm, tpm and concurrency are all missing; send at least one, or null to remove your limit";

const FIELDS: readonly string[] = Object.keys(Body.properties);
const ECHOED_CHARS_MAX = 64;

/** A field that the route does not have, or has twice. */
function findNameProblem(doc: JsonDocument): string | undefined {
  const names = new Set<string>();
  for (const key of doc.keys(0)) {
    const name = doc.text(key);
    if (!FIELDS.includes(name)) {
      const shown = name.slice(0, ECHOED_CHARS_MAX);
      return `${shown} is not a field of this route; it accepts ${FIELDS.join(", ")}`;
    }
    if (names.has(name)) return `${name} is duplicated; send it once`;
    names.add(name);
  }
  return undefined;
}

function findProblem(check: SchemaCheck, fields: object): string | undefined {
  const fault = check(fields);
  return fault === undefined ? undefined : `${String(fault.path[0])} ${fault.message}`;
}

function findPlacementProblem({ scope, key_id: keyId, model }: NamedLimit): string | undefined {
  if (scope === "model") {
    return model === undefined ? 'model is missing; scope "model" needs the id of one' : undefined;
  }
  if (model !== undefined) {
    return `model does not go with scope "${scope}"; leave it out, or set scope to "model"`;
  }
  return scope === "org" && keyId !== undefined
    ? 'key_id does not go with scope "org"; leave it out, or set scope to "key"'
    : undefined;
}
