import { Type, type Static, type TSchema, type TUnsafe } from "typebox";

/** A rule of the manifest: its stable id, and what a field must be or its author must do. */
export interface RuleNote {
  readonly "x-rule": string;
  readonly "x-help": string;
}

/** One thing that is wrong with a manifest. */
export interface ManifestProblem {
  /** JSON pointer of the place; of the object where a field is missing; "" is the document. */
  readonly pointer: string;
  /** Stable id of the rule, such as `price-decimals`. */
  readonly rule: string;
  /** The problem and the next step. */
  readonly message: string;
}

/** Marks a schema node with its rule. `help` continues a sentence that begins with the field. */
export function rule(id: string, help: string): RuleNote {
  return { "x-rule": id, "x-help": help };
}

/** The values that a schema accepts, deeply read-only. */
export type Accepted<S extends TSchema> = DeepReadonly<Static<S>>;
type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

/** One of these values; the `type` beside the `enum` makes validators hash, not compare. */
export function oneOf<const Words extends readonly string[]>(
  words: Words,
  options: RuleNote & { readonly description: string; readonly default?: Words[number] },
): TUnsafe<Words[number]> {
  return Type.Unsafe<Words[number]>({ type: "string", enum: words, ...options });
}

/** If the condition holds, the consequence must hold. */
export function when(condition: TSchema, consequence: TSchema): TSchema {
  // Built from pairs, because an object literal with a member `then` looks like a promise.
  return Object.fromEntries(
    new Map([
      ["if", condition],
      ["then", consequence],
    ]),
  );
}

/** All of the consequences. */
export function all(...schemas: readonly TSchema[]): TSchema {
  return { allOf: schemas };
}

/** An object whose property has the given value. */
export function has(property: string, value: unknown): TSchema {
  return { type: "object", required: [property], properties: { [property]: { const: value } } };
}

/** An object that declares the property. */
export function declares(property: string): TSchema {
  return { type: "object", required: [property] };
}

/** Applies `schema` to a property where the object has it. */
export function at(property: string, schema: TSchema): TSchema {
  return { type: "object", properties: { [property]: schema } };
}

/** An object that must have the property, by this rule. */
export function needs(property: string, note: RuleNote): TSchema {
  return { type: "object", required: [property], ...note };
}

/** The largest integer that every JSON reader carries exactly. */
export const integerMax: number = Number.MAX_SAFE_INTEGER;

export function positiveInteger(
  options: RuleNote & { readonly description: string },
): TUnsafe<number> {
  return Type.Unsafe<number>(Type.Integer({ minimum: 1, maximum: integerMax, ...options }));
}

/** The characters of host and port, without "@", which would end user information. */
const HOST_CHARACTER = "A-Za-z0-9._~%!$&'()*+,;=:\\[\\]-";
const URL_CHARACTER = `@${HOST_CHARACTER}`;
const ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
const LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?";
const CLOCK = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]";
const DAY_OF_MONTH =
  "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])" +
  "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|[12][0-9])";

type PatternName =
  | "providerId"
  | "modelId"
  | "upstreamId"
  | "envName"
  | "path"
  | "url"
  | "baseUrl"
  | "email"
  | "date"
  | "instant"
  | "sha256"
  | "margin"
  | "stagedBecause"
  | "country"
  | "costPerMillion"
  | "costPerUnit";

export const patterns: Readonly<Record<PatternName, string>> = {
  providerId: "^[a-z0-9][a-z0-9-]{1,62}$",
  modelId: "^[a-zA-Z0-9][a-zA-Z0-9._/-]{0,127}$",
  upstreamId: "^[a-zA-Z0-9][a-zA-Z0-9._/-]{0,127}(?::[a-z0-9][a-z0-9-]{0,31})?$",
  envName: "^[A-Z][A-Z0-9_]*$",
  path: "^/[a-z0-9][a-z0-9/_-]{0,62}$",
  url: `^https?://[${HOST_CHARACTER}]+(?:[/?#][/?#${URL_CHARACTER}]*)?$`,
  baseUrl: `^https?://[${HOST_CHARACTER}]+(?:/[/${URL_CHARACTER}]*)?$`,
  email: `^${ATOM}(?:\\.${ATOM})*@(?:${LABEL}\\.)+${LABEL}$`,
  date: `^[0-9]{4}-(?:${DAY_OF_MONTH})$`,
  instant: `^[0-9]{4}-(?:${DAY_OF_MONTH})T${CLOCK}Z$`,
  sha256: "^[0-9a-f]{64}$",
  margin: "^[0-9]{1,3}(?:\\.[0-9]{1,6})?$",
  stagedBecause: "^[a-z][a-z0-9-]{0,31}$",
  country: "^[A-Z]{2}$",
  costPerMillion: "^[0-9]{1,7}(?:\\.[0-9]{1,6})?$",
  costPerUnit: "^[0-9]{1,6}(?:\\.[0-9]{1,9})?$",
};

/** A calendar day as text. */
export function dateText(description: string): TUnsafe<string> {
  const note = rule("date", "must be a calendar day written YYYY-MM-DD");
  return Type.Unsafe<string>(Type.String({ pattern: patterns.date, ...note, description }));
}

export function urlText(description: string): TUnsafe<string> {
  const note = rule("url", "must be a URI that starts with http:// or https:// and names no user");
  return Type.Unsafe<string>(Type.String({ pattern: patterns.url, ...note, description }));
}
