import {
  ABSENT,
  ARRAY_KIND,
  FALSE_KIND,
  foldName,
  invalidRequest,
  type JsonDocument,
  type JsonNode,
  NODE_SIZE,
  NUMBER_KIND,
  OBJECT_KIND,
  pathText,
  type Refused,
  refused,
  STRING_KIND,
  TRUE_KIND,
  UNKNOWN_FIELDS_MAX,
} from "../../../kernel/index.ts";
import { byWordId, chatVocabulary, type ChatWord, word } from "./chat-vocabulary.ts";

/** `path` leads from the value that was checked to the fault. */
export interface Problem {
  readonly isProblem: true;
  readonly path: readonly (string | number)[];
  /** Text that follows the path of the field, such as "must be a string". */
  readonly message: string;
}

/** Undefined if the value is valid. */
export type Check = (doc: JsonDocument, node: JsonNode) => Problem | undefined;

export function problem(message: string, ...path: (string | number)[]): Problem {
  return { isProblem: true, path, message };
}

export function isProblem(read: object): read is Problem {
  const tagged: { readonly isProblem?: unknown } = read;
  return tagged.isProblem === true;
}

/** Refuses a body for the problem, with its path in the notation of wire_a. */
export function refuseProblem({ path, message }: Problem): Refused {
  return refused(invalidRequest(`${pathText(path)} ${message}`));
}

export function under(step: string | number, found: Problem): Problem {
  return { isProblem: true, path: [step, ...found.path], message: found.message };
}

export const anything: Check = () => undefined;

export const isText: Check = ofKind(STRING_KIND, "must be a string");

export const isNumber: Check = ofKind(NUMBER_KIND, "must be a number");

export const isObject: Check = ofKind(OBJECT_KIND, "must be an object");

export const isArray: Check = ofKind(ARRAY_KIND, "must be an array");

export const isBoolean: Check = (doc, node) => {
  const kind = doc.kind(node);
  return kind === TRUE_KIND || kind === FALSE_KIND ? undefined : mustBeBoolean;
};
const mustBeBoolean = problem("must be true or false");

export const isInteger: Check = (doc, node) =>
  doc.kind(node) === NUMBER_KIND && Number.isInteger(doc.number(node)) ? undefined : mustBeInteger;
const mustBeInteger = problem("must be a whole number");

export const isFilledText: Check = (doc, node) =>
  doc.isString(node) && doc.end(node) - doc.start(node) > 2 ? undefined : mustBeFilled;
const mustBeFilled = problem("must be a non-empty string");

function ofKind(kind: number, message: string): Check {
  const found = problem(message);
  return (doc, node) => (doc.kind(node) === kind ? undefined : found);
}

/** Accepts what `check` accepts, and null, which means the same as absent. */
export function optional(check: Check): Check {
  return (doc, node) => (doc.isNull(node) ? undefined : check(doc, node));
}

/** Accepts a string. `otherwise` checks an array or object. */
export function textOr(otherwise: Check, message: string): Check {
  const found = problem(message);
  return (doc, node) => {
    if (doc.isString(node)) return undefined;
    return doc.isArray(node) || doc.isObject(node) ? otherwise(doc, node) : found;
  };
}

/** Skips the check if the same bytes passed it in an earlier body. */
export function onceForSameBytes(check: Check): Check {
  return (doc, node) => {
    if (doc.hasPassed(node, check)) return undefined;
    const found = check(doc, node);
    if (found === undefined) doc.notePassed(node, check);
    return found;
  };
}

export function listOf(check: Check): Check {
  return (doc, node) => {
    if (!doc.isArray(node)) return mustBeArray;
    const end = doc.next(node);
    let index = 0;
    for (let item = node + NODE_SIZE; item < end; item = doc.next(item)) {
      const found = check(doc, item);
      if (found !== undefined) return under(index, found);
      index += 1;
    }
    return undefined;
  };
}
const mustBeArray = problem("must be an array");

export function checkFilledList(check: Check, emptyMessage: string): Check {
  const checkAll = listOf(check);
  const empty = problem(emptyMessage);
  return (doc, node) => (isEmptyArray(doc, node) ? empty : checkAll(doc, node));
}

export function isEmptyArray(doc: JsonDocument, node: JsonNode): boolean {
  return doc.isArray(node) && doc.next(node) === node + NODE_SIZE;
}

export type Fields = Readonly<Partial<Record<ChatWord, Check>>>;

export interface ShapeRules {
  readonly required?: readonly ChatWord[];
  /** Also checks the names that `fields` does not have; absent: only their spelling is checked. */
  readonly other?: (name: string) => Problem | undefined;
}

/** A duplicate key is refused: the provider might read the value that the gateway does not. */
export function shape(fields: Fields, rules: ShapeRules = {}): Check {
  const checks = byWordId<Check>(fields);
  const knowsNames = Object.keys(fields).length > 0;
  const keyRules = { checks, knowsNames, other: rules.other };
  const required = (rules.required ?? []).map((name) => word[name]);
  return (doc, node) => {
    if (!doc.isObject(node)) return mustBeObject;
    return (
      checkKeys(doc, node, keyRules) ??
      checkRequired(doc, node, required) ??
      checkMembers(doc, node, checks)
    );
  };
}
const mustBeObject = problem("must be an object");

/**
 * For each word id, the number (`round`) of the last object that had the word as a key. Numbering
 * the objects avoids clearing a set for each object.
 */
const seenInRound = new Float64Array(chatVocabulary.size + 1);
let round = 0;

interface KeyRules {
  readonly checks: readonly (Check | undefined)[];
  readonly knowsNames: boolean;
  readonly other: ShapeRules["other"];
}

function checkKeys(doc: JsonDocument, object: JsonNode, rules: KeyRules): Problem | undefined {
  const { checks, knowsNames, other } = rules;
  round += 1;
  const end = doc.next(object);
  let unknown: SeenNames | undefined;
  for (let key = object + NODE_SIZE; key < end; key = doc.next(key + NODE_SIZE)) {
    const wordId = doc.keyWord(key);
    const name = wordId === 0 ? doc.text(key) : undefined;
    if (name !== undefined) {
      unknown ??= new SeenNames();
      if (!unknown.add(name)) return duplicate(name);
      if (unknown.size > UNKNOWN_FIELDS_MAX) return tooManyFields;
    } else if (seenInRound[wordId] === round) return duplicate(chatVocabulary.nameOf(wordId) ?? "");
    seenInRound[wordId] = round;
    if (name !== undefined && knowsNames) {
      const found = checkSpelling(name, checks);
      if (found !== undefined) return found;
    }
    if (other !== undefined && checks[wordId] === undefined) {
      const found = other(name ?? chatVocabulary.nameOf(wordId) ?? "");
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/** Refuses a known name in another letter case, because some providers would accept it. */
function checkSpelling(name: string, checks: readonly (Check | undefined)[]): Problem | undefined {
  const folded = foldName(name);
  if (folded === name || checks[chatVocabulary.findId(folded)] === undefined) return undefined;
  return problem(`is not accepted: write it exactly as ${folded}`, name);
}

const tooManyFields = problem(`has more than ${UNKNOWN_FIELDS_MAX} unknown fields; send fewer`);

function duplicate(name: string): Problem {
  return problem("is duplicated; send it once", name);
}

function checkRequired(
  doc: JsonDocument,
  object: JsonNode,
  required: readonly number[],
): Problem | undefined {
  for (const wordId of required) {
    if (doc.member(object, wordId) === ABSENT) {
      return problem("is missing; add it", chatVocabulary.nameOf(wordId) ?? "");
    }
  }
  return undefined;
}

function checkMembers(
  doc: JsonDocument,
  object: JsonNode,
  checks: readonly (Check | undefined)[],
): Problem | undefined {
  const end = doc.next(object);
  for (let key = object + NODE_SIZE; key < end;) {
    const value = key + NODE_SIZE;
    const wordId = doc.keyWord(key);
    const found = checks[wordId]?.(doc, value);
    if (found !== undefined) return under(chatVocabulary.nameOf(wordId) ?? "", found);
    key = doc.next(value);
  }
  return undefined;
}

export function variant(tag: ChatWord, variants: Fields, otherwise: Check): Check {
  const checks = byWordId<Check>(variants);
  const tagWord = word[tag];
  return (doc, node) => {
    if (!doc.isObject(node)) return mustBeObject;
    const value = doc.member(node, tagWord);
    if (value === ABSENT) return problem("is missing; add it", tag);
    if (!doc.isString(value)) return problem("must be a string", tag);
    return (checks[doc.word(value)] ?? otherwise)(doc, node);
  };
}

/** Up to this number, names are kept in a list: a set for each small object costs more. */
const LISTED_MAX = 8;

export class SeenNames {
  readonly #listed: string[] = [];
  #others: Set<string> | undefined;

  get size(): number {
    return this.#listed.length + (this.#others?.size ?? 0);
  }

  add(name: string): boolean {
    if (this.#listed.includes(name) || this.#others?.has(name) === true) return false;
    if (this.#listed.length < LISTED_MAX) this.#listed.push(name);
    else this.#others = (this.#others ?? new Set()).add(name);
    return true;
  }
}
