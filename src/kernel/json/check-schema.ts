import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { type Static, Type, type TProperties, type TSchema } from "typebox";

import { groupBy } from "../core/group-by.ts";
import { parseMoment } from "../core/time.ts";
import { parseRequestId } from "../core/ids.ts";
import { visibleText } from "../core/visible-text.ts";
import { asObject } from "./json-edit.ts";

export interface SchemaFault {
  /** The path to the value at fault, relative to the checked value. */
  readonly path: readonly (string | number)[];
  /** Continues a sentence that begins with the path: "must be text". */
  readonly message: string;
}

export type SchemaCheck = (value: unknown) => SchemaFault | undefined;

export interface SchemaWords {
  /** The message for a missing field. The field's `title` follows it, if there is one. */
  readonly missing: string;
  /** The message for an unknown field; `{names}` is replaced by the allowed names. */
  readonly unknown: string;
  /** If present, text is converted to the type that the schema requires: a query has only text. */
  readonly readsText?: true;
}

/**
 * Returns a function that returns the first fault of a value. Its first call compiles the schema.
 * The schema has the texts of the messages: `description` continues "must be …", `title` describes
 * a missing field and is the noun for a number of entries, and `says` replaces the whole message if
 * `description` is written for readers of the API.
 */
export function schemaCheck(schema: TSchema, words: SchemaWords): SchemaCheck {
  const validator = compiled(words.readsText === true ? TEXTS : VALUES, schema);
  return (value) => {
    const validate = validator();
    if (validate(value)) return undefined;
    const all = validate.errors ?? [];
    // The last error is the outermost: ajv lists a choice's error after the errors of its cases.
    const outer = all.at(-1);
    return outer === undefined ? undefined : toSchemaFault(outer, all, { value, words });
  };
}

/** Returns a type guard, for data whose problems nobody needs to see. */
export function conforms<S extends TSchema>(schema: S): (value: unknown) => value is Static<S> {
  const validator = compiled(VALUES, schema);
  return (value): value is Static<S> => validator()(value);
}

export function schemaFaults(
  schema: TSchema,
  words: SchemaWords,
): (value: unknown) => readonly SchemaFault[] {
  const validator = compiled(WHOLE, schema);
  return (value) => {
    const validate = validator();
    const all = validate(value) ? [] : (validate.errors ?? []);
    return all.map((error) => toSchemaFault(error, [error], { value, words }));
  };
}

function compiled(ajv: Ajv, schema: TSchema): () => ValidateFunction {
  let validate: ValidateFunction | undefined;
  // Compiles a copy, because ajv writes `nullable` into the list of types, which schemas may share.
  return () => (validate ??= ajv.compile(JSON.parse(JSON.stringify(schema)) as TSchema));
}

const STEP_CHARS_MAX = 64;

/** Formats a path as `state.items[2]`. Each name in it is cut to 64 characters. */
export function pathText(path: SchemaFault["path"]): string {
  return path
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${step.slice(0, STEP_CHARS_MAX)}`))
    .join("")
    .replace(/^[.]/, "");
}

/** An object whose member `type` decides which other members it has. */
export function byType(types: Readonly<Record<string, TProperties>>): TSchema {
  // Types with the same fields share one case, because each case takes time to compile.
  const cases = groupBy(Object.entries(types), ([, fields]) => fields);
  const oneOf = Array.from(cases, ([fields, alike]) => {
    const names = alike.map(([name]) => name);
    return closed({ type: Type.Unsafe({ type: "string", enum: names }), ...fields });
  });
  const title = Object.keys(types).join(", ");
  return Type.Unsafe({ type: "object", discriminator: { propertyName: "type" }, oneOf, title });
}

export function closed(fields: TProperties, options: object = {}): TSchema {
  return Type.Object(fields, { ...options, additionalProperties: false });
}

const OPTIONS = {
  allErrors: false,
  verbose: true,
  strict: true,
  strictTypes: false,
  discriminator: true,
  // Schemas are built by typed functions; validating them again would take 100 ms.
  meta: false,
  validateSchema: false,
  code: { optimize: false },
} as const;
const VALUES = withFormats(new Ajv({ ...OPTIONS, coerceTypes: false }));
const TEXTS = withFormats(new Ajv({ ...OPTIONS, coerceTypes: true }));
const WHOLE = withFormats(new Ajv({ ...OPTIONS, allErrors: true }));

function withFormats(ajv: Ajv): Ajv {
  return ajv
    .addKeyword("says")
    .addFormat("date-time", (text: string) => INSTANT.test(text) && !Number.isNaN(Date.parse(text)))
    .addFormat("moment", (text: string) => parseMoment(text) !== undefined)
    .addFormat("request-id", (text: string) => parseRequestId(text) !== undefined);
}

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

interface Checked {
  readonly value: unknown;
  readonly words: SchemaWords;
}

function toSchemaFault(outer: ErrorObject, all: readonly ErrorObject[], of: Checked): SchemaFault {
  const path = [...parsePointer(outer, of.value), ...stepInside(outer)];
  // For a bad property name, ajv first reports what is wrong with it, then that a name is at fault.
  const cause = outer.keyword === "propertyNames" ? (all.at(-2) ?? outer) : outer;
  return { path, message: describeError(cause, all, of.words) };
}

function parsePointer({ instancePath }: ErrorObject, value: unknown): (string | number)[] {
  let container = value;
  return instancePath
    .split("/")
    .slice(1)
    .map((escaped) => {
      const step = escaped.replaceAll("~1", "/").replaceAll("~0", "~");
      const isIndex = Array.isArray(container);
      container = (container as Readonly<Record<string, unknown>>)[step];
      return isIndex ? Number(step) : step;
    });
}

/** Returns the key or index of the member at fault if ajv reports the error at its container. */
function stepInside({ keyword, params }: ErrorObject): readonly (string | number)[] {
  const name = STEP_PARAMS[keyword];
  const step: unknown = name === undefined ? undefined : params[name];
  if (keyword === "uniqueItems") return [Math.max(Number(params["i"]), Number(params["j"]))];
  return typeof step === "string" ? [step] : [];
}

const STEP_PARAMS: Readonly<Record<string, string>> = {
  required: "missingProperty",
  additionalProperties: "additionalProperty",
  propertyNames: "propertyName",
  discriminator: "tag",
};

function describeError(
  outer: ErrorObject,
  all: readonly ErrorObject[],
  words: SchemaWords,
): string {
  const says: unknown = outer.parentSchema?.["says"];
  if (typeof says === "string") return says;
  const special = SPECIAL_WORDS[outer.keyword]?.(outer, words) ?? countWords(outer);
  if (special !== undefined) return special;
  const descriptions = all.map(({ parentSchema }) => parentSchema?.["description"]);
  const description = descriptions.find((text) => typeof text === "string");
  if (description !== undefined) return `must be ${description}`;
  if (outer.keyword === "enum") return `must be one of ${listAllowed(outer)}`;
  if (outer.keyword === "format") return "must be an instant like 2026-11-20T08:00:00.000Z";
  return boundWords(outer) ?? "is not valid";
}

type Words = (error: ErrorObject, words: SchemaWords) => string | undefined;

/** Messages for kinds of errors that the schema's `description` would not explain. */
const SPECIAL_WORDS: Readonly<Record<string, Words>> = {
  required({ params, parentSchema }, { missing }) {
    const fields = asObject(parentSchema?.["properties"]);
    const title = asObject(fields?.[String(params["missingProperty"])])?.["title"];
    return typeof title === "string" ? `${missing}: ${title}` : missing;
  },
  additionalProperties({ data, schemaPath, parentSchema }, { unknown }) {
    const names = Object.keys(asObject(parentSchema?.["properties"]) ?? {});
    if (!/\/oneOf\/\d+\/additionalProperties$/.test(schemaPath)) {
      return unknown.replace("{names}", names.join(", "));
    }
    return `the type ${String(asObject(data)?.["type"])} does not accept this field`;
  },
  discriminator({ params, parentSchema }, { missing }) {
    const types = `one of ${String(parentSchema?.["title"])}`;
    return params["tagValue"] === undefined ? `${missing}: ${types}` : `use ${types}`;
  },
  uniqueItems: (error) => `this ${findNoun(error) ?? "entry"} is duplicated`,
  not: ({ schema }) => `must not be ${JSON.stringify(asObject(schema)?.["const"])}`,
  pattern({ params }) {
    const { pattern } = params;
    if (pattern === visibleText.source) return ONE_LINE;
    return pattern === NOT_BLANK ? "must not be blank" : undefined;
  },
};

export const NOT_BLANK = String.raw`\S`;
const ONE_LINE =
  "must be one line, without characters that are not seen or that change the direction of text";

function findNoun({ parentSchema }: ErrorObject): string | undefined {
  const entries =
    asObject(parentSchema?.["items"]) ?? asObject(parentSchema?.["additionalProperties"]);
  const noun = entries?.["title"];
  return typeof noun === "string" ? noun : undefined;
}

/** Describes a wrong number of entries if the schema names them: `1 option, at least 2 needed`. */
function countWords(error: ErrorObject): string | undefined {
  const { keyword, params, data } = error;
  const noun = /^(?:min|max)(?:Items|Properties)$/.test(keyword) ? findNoun(error) : undefined;
  if (noun === undefined) return undefined;
  const count = Object.keys(data as object).length;
  const limit = String(params["limit"]);
  const bound = keyword.startsWith("min")
    ? `at least ${limit} needed`
    : `at most ${limit} accepted`;
  return `${count} ${noun}${count === 1 ? "" : "s"}, ${bound}`;
}
function boundWords({ keyword, params }: ErrorObject): string | undefined {
  if (keyword === "type") return `must be ${TYPES[String(params["type"])] ?? "of another type"}`;
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

const TYPES: Readonly<Record<string, string>> = {
  integer: "a whole number",
  number: "a number",
  string: "text",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  null: "null",
};

function listAllowed({ params }: ErrorObject): string {
  const allowed: unknown = params["allowedValues"];
  return Array.isArray(allowed) ? allowed.map((value) => JSON.stringify(value)).join(", ") : "";
}
