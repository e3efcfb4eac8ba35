import {
  Type,
  type Static,
  type TInteger,
  type TSchema,
  type TString,
  type TUnsafe,
} from "typebox";

/** A rule of the manifest: a stable id, and text that says what a field must be. */
export interface RuleNote {
  readonly "x-rule": string;
  readonly "x-help": string;
}

export interface ManifestProblem {
  /** JSON pointer to the field, or to the object that lacks it; "" is the whole document. */
  readonly pointer: string;
  readonly rule: string;
  readonly message: string;
}

/** Marks a schema node with a rule. A problem's usual message is the field's name and `help`. */
export function rule(id: string, help: string): RuleNote {
  return { "x-rule": id, "x-help": help };
}

export type Accepted<S extends TSchema> = DeepReadonly<Static<S>>;
type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

/**
 * The text of the rule `id` lists the words. With `type: "string"`, a validator finds a word by its
 * hash instead of comparing each word.
 */
export function oneOf<const Words extends readonly string[]>(
  id: string,
  words: Words,
  options: { readonly description: string; readonly default?: Words[number] },
): TUnsafe<Words[number]> {
  const note = rule(id, `must be ${quotedWords(words, "or")}`);
  return Type.Unsafe<Words[number]>({ type: "string", enum: words, ...options, ...note });
}

/** Writes `"a", "b" or "c"`. */
export function quotedWords(words: readonly string[], joint: "or" | "and"): string {
  const quoted = words.map((word) => `"${word}"`);
  const last = quoted.pop() ?? "";
  return quoted.length === 0 ? last : `${quoted.join(", ")} ${joint} ${last}`;
}

export function when(condition: TSchema, consequence: TSchema): TSchema {
  // The linter refuses a literal with a member `then`, which `await` would take for a promise.
  return Object.fromEntries(
    new Map([
      ["if", condition],
      ["then", consequence],
    ]),
  );
}

export function all(...schemas: readonly TSchema[]): TSchema {
  return { allOf: schemas };
}

export function has(property: string, value: unknown): TSchema {
  return hasSuch(property, { const: value });
}

export function hasSuch(property: string, schema: TSchema): TSchema {
  return { type: "object", required: [property], properties: { [property]: schema } };
}

export function declares(...properties: readonly string[]): TSchema {
  return { type: "object", required: [...properties] };
}

export function at(property: string, schema: TSchema): TSchema {
  return { type: "object", properties: { [property]: schema } };
}

export function needs(property: string, note: RuleNote): TSchema {
  return { type: "object", required: [property], ...note };
}

/** Requires the property and the value: `missing` and `wrong` are the rules for these two. */
export function mustBe(
  property: string,
  value: unknown,
  missing: RuleNote,
  wrong: RuleNote = missing,
): readonly [TSchema, TSchema] {
  return [needs(property, missing), at(property, { const: value, ...wrong })];
}

/** JSON parsers that use floats read every integer up to this one exactly. */
export const integerMax: number = Number.MAX_SAFE_INTEGER;

export function positiveInteger(id: string, description: string): TInteger {
  const note = rule(id, "must be an integer greater than 0");
  return Type.Integer({ minimum: 1, maximum: integerMax, description, ...note });
}

/** "@" is left out, so that a URL with a user name or password does not match. */
const HOST_CHARACTER = "A-Za-z0-9._~%!$&'()*+,;=:\\[\\]-";
const URL_CHARACTER = `@${HOST_CHARACTER}`;
const ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
const LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?";
const CLOCK = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]";
const DAY_OF_MONTH =
  "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])" +
  "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|[12][0-9])";

export const patterns = {
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
} as const;

export function dateText(description: string): TString {
  const note = rule("date", "must be a calendar day written YYYY-MM-DD");
  return Type.String({ pattern: patterns.date, ...note, description });
}

export function urlText(description: string): TString {
  const note = rule("url", "must be a URI that starts with http:// or https:// and names no user");
  return Type.String({ pattern: patterns.url, ...note, description });
}
