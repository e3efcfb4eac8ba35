import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import type { TSchema } from "typebox";

import { visibleText } from "../core/index.ts";

/** Why a part of a request is not what its schema says. */
export interface SchemaProblem {
  /** The field, as `models[1]`; undefined: the part as a whole. */
  readonly field: string | undefined;
  readonly message: string;
}

/** Gives the first problem of a value, or undefined. A string is made a number where one is due. */
export type SchemaCheck = (value: unknown) => SchemaProblem | undefined;

/**
 * Checks for one part of a request. Nothing is added, stripped or, in bodies, converted: what is
 * not as the contract says is refused. Values of a query and a path come as text and are read as
 * numbers.
 */
export function compileCheck(schema: TSchema, part: "body" | "text"): SchemaCheck {
  const validate = (part === "body" ? BODIES : TEXTS).compile(schema);
  return (value) => (validate(value) ? unstorableIn(value) : problemOf(validate));
}

/**
 * U+0000 is the one character that the database takes in no text. A number like 1e999 in a query is
 * read as infinite, which no bound of a schema refuses.
 */
function unstorableIn(value: unknown): SchemaProblem | undefined {
  const left = [{ field: "", value }];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { field } = next;
    if (typeof next.value === "string" && next.value.includes("\0")) {
      return { field, message: `${field} must be text without U+0000` };
    }
    if (typeof next.value === "number" && !Number.isFinite(next.value)) {
      return { field, message: `${field} must be a smaller number` };
    }
    if (typeof next.value !== "object" || next.value === null) continue;
    for (const [name, part] of Object.entries(next.value)) {
      left.push({ field: field === "" ? name.slice(0, FIELD_CHARS_MAX) : field, value: part });
    }
  }
  return undefined;
}

const OPTIONS = { allErrors: false, verbose: true, strict: true, strictTypes: false } as const;
const BODIES = withFormats(new Ajv({ ...OPTIONS, coerceTypes: false }));
const TEXTS = withFormats(new Ajv({ ...OPTIONS, coerceTypes: true }));

function withFormats(ajv: Ajv): Ajv {
  return ajv.addFormat("date-time", isInstant);
}

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

function isInstant(text: string): boolean {
  return INSTANT.test(text) && !Number.isNaN(Date.parse(text));
}

function problemOf({ errors }: ValidateFunction): SchemaProblem {
  const all = errors ?? [];
  // Of a choice between schemas the last error is the choice itself, and the ones before say why.
  const outer = all.at(-1);
  if (outer === undefined) return { field: undefined, message: "the request is not valid" };
  const field = fieldOf(outer);
  return { field, message: `${field ?? "the request"} ${wordsOf(outer, all)}` };
}

function fieldOf({ instancePath, keyword, params }: ErrorObject): string | undefined {
  const steps = instancePath.split("/").slice(1).map(unescaped);
  const named = nameIn(params, keyword);
  if (named !== undefined) steps.push(named);
  if (steps.length === 0) return undefined;
  return steps
    .map((step, at) => (/^\d+$/.test(step) ? `[${step}]` : at === 0 ? step : `.${step}`))
    .join("")
    .slice(0, FIELD_CHARS_MAX);
}

function nameIn(params: Readonly<Record<string, unknown>>, keyword: string): string | undefined {
  const name = keyword === "required" ? params["missingProperty"] : params["additionalProperty"];
  return typeof name === "string" ? name : undefined;
}

const FIELD_CHARS_MAX = 80;

function unescaped(step: string): string {
  return step.replaceAll("~1", "/").replaceAll("~0", "~");
}

function wordsOf(outer: ErrorObject, all: readonly ErrorObject[]): string {
  if (outer.keyword === "required") return "is missing";
  if (outer.keyword === "additionalProperties") return "is not a field of this route; remove it";
  const descriptions = all.map(({ parentSchema }) => parentSchema?.["description"]);
  const description = descriptions.find((text) => typeof text === "string");
  if (description !== undefined) return `must be ${description}`;
  if (outer.keyword === "pattern" && outer.params["pattern"] === visibleText.source) {
    return "must have no control characters, and none that are not seen or change the direction";
  }
  if (outer.keyword === "enum") return `must be one of ${allowedOf(outer)}`;
  if (outer.keyword === "format") return "must be an instant like 2026-11-20T08:00:00.000Z";
  return boundWords(outer) ?? "is not valid";
}

/** What a value has to be by its type, its length or its size. */
function boundWords({ keyword, params }: ErrorObject): string | undefined {
  if (keyword === "type") return `must be ${typeWords(params["type"])}`;
  const limit: unknown = params["limit"];
  if (typeof limit !== "number") return undefined;
  const words = BOUNDS[keyword];
  if (words === undefined) return undefined;
  const [before, thing] = words;
  if (limit === 1 && before.endsWith("least") && thing !== "") return "must not be empty";
  return `${before} ${limit.toLocaleString("en-US")}${thing === "" ? "" : ` ${thing}`}`;
}

const BOUNDS: Readonly<Record<string, readonly [string, string]>> = {
  minLength: ["must have at least", "characters"],
  maxLength: ["must have at most", "characters"],
  minItems: ["must have at least", "entries"],
  maxItems: ["must have at most", "entries"],
  minimum: ["must be at least", ""],
  maximum: ["must be at most", ""],
};

function typeWords(type: unknown): string {
  const known: Readonly<Record<string, string>> = TYPES;
  return (typeof type === "string" ? known[type] : undefined) ?? "of another type";
}

const TYPES = {
  integer: "a whole number",
  number: "a number",
  string: "text",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  null: "null",
} as const;

function allowedOf({ params }: ErrorObject): string {
  const allowed: unknown = params["allowedValues"];
  return Array.isArray(allowed) ? allowed.map((value) => JSON.stringify(value)).join(", ") : "";
}
