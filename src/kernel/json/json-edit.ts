import {
  JSON_DEPTH_MAX,
  PARSED_KEYS_MAX,
  PARSED_STEPS_MAX,
  PARSED_VALUES_MAX,
} from "./json-limits.ts";

/** Half-open range of offsets in a JSON text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * Finds the value of `key` in the object at offset `objectAt`; the last one if the key is repeated,
 * as in JSON.parse. The text must be valid JSON, so parse it first.
 */
export function findMember(text: string, objectAt: number, key: string): Span | undefined {
  return findMembers(text, objectAt, [key])[0];
}

/** Like `findMember`, for several keys in one pass. Results are in the order of `keys`. */
export function findMembers(
  text: string,
  objectAt: number,
  keys: readonly string[],
): readonly (Span | undefined)[] {
  const found: (Span | undefined)[] = keys.map(() => undefined);
  let at = skipSpace(text, objectAt + 1);
  while (at < text.length && text.charCodeAt(at) === QUOTE) {
    const keyEnd = stringEnd(text, at);
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = valueEnd(text, start);
    const key = keyText(text.slice(at + 1, keyEnd - 1));
    for (let i = 0; i < keys.length; i++) if (keys[i] === key) found[i] = { start, end };
    const next = skipSpace(text, end);
    if (text.charCodeAt(next) !== COMMA) break;
    at = skipSpace(text, next + 1);
  }
  return found;
}

export function findElements(text: string, arrayAt: number, countMax = Infinity): Span[] {
  const spans: Span[] = [];
  let at = skipSpace(text, arrayAt + 1);
  while (spans.length < countMax && at < text.length && text.charCodeAt(at) !== CLOSE_ARRAY) {
    const end = valueEnd(text, at);
    spans.push({ start: at, end });
    const next = skipSpace(text, end);
    if (text.charCodeAt(next) !== COMMA) break;
    at = skipSpace(text, next + 1);
  }
  return spans;
}

export function findPath(text: string, ...keys: readonly string[]): Span | undefined {
  let span: Span | undefined = { start: skipSpace(text, 0), end: text.length };
  for (const key of keys) {
    if (span === undefined || text.charCodeAt(span.start) !== OPEN_OBJECT) return undefined;
    span = findMember(text, span.start, key);
  }
  return span;
}

/** Sets the value of a member to the JSON text `json`; adds the member if it is missing. */
export function withMember(
  text: string,
  object: Span,
  member: { readonly key: string; readonly json: string },
): string {
  const span = findMember(text, object.start, member.key);
  if (span !== undefined) return text.slice(0, span.start) + member.json + text.slice(span.end);
  const first = skipSpace(text, object.start + 1);
  const comma = text.charCodeAt(first) === CLOSE_OBJECT ? "" : ",";
  const added = `${JSON.stringify(member.key)}:${member.json}${comma}`;
  return text.slice(0, object.start + 1) + added + text.slice(object.start + 1);
}

export function withoutMember(text: string, object: Span, key: string): string {
  const value = findMember(text, object.start, key);
  if (value === undefined) return text;
  const keyAt = keyStart(text, value.start);
  const behind = skipSpace(text, value.end);
  if (text.charCodeAt(behind) === COMMA) return text.slice(0, keyAt) + text.slice(behind + 1);
  const before = lastPlain(text, keyAt);
  const from = text.charCodeAt(before) === COMMA ? before : keyAt;
  return text.slice(0, from) + text.slice(value.end);
}

function keyStart(text: string, valueAt: number): number {
  const closing = lastPlain(text, lastPlain(text, valueAt));
  let at = text.lastIndexOf('"', closing - 1);
  while (isEscaped(text, at)) at = text.lastIndexOf('"', at - 1);
  return at;
}

function lastPlain(text: string, from: number): number {
  let at = from - 1;
  while (isSpace(text.charCodeAt(at))) at -= 1;
  return at;
}

function isEscaped(text: string, at: number): boolean {
  return countBackslashes(text, at) % 2 === 1;
}

function countBackslashes(text: string, at: number): number {
  let count = 0;
  while (text.charCodeAt(at - 1 - count) === BACKSLASH) count += 1;
  return count;
}

/** Drops white space between tokens; strings and the digits of numbers stay as they are. */
export function compactJson(text: string): string {
  if (!/[ \t\r\n]/.test(text)) return text;
  let compact = "";
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = stringEnd(text, at) - 1;
    else if (isSpace(code)) {
      compact += text.slice(from, at);
      from = at + 1;
    }
  }
  return compact + text.slice(from);
}

export function asObject(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

export function asText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export function asNumber(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

/**
 * Parses text from outside; undefined if it is no JSON or exceeds the budget. Pass one budget for
 * all texts of one answer.
 */
export function tryParse(
  text: string,
  budget: JsonBudget = new JsonBudget(),
): { readonly value: unknown } | undefined {
  try {
    return budget.allows(text) ? { value: JSON.parse(text) as unknown } : undefined;
  } catch {
    return undefined;
  }
}

/** Returns undefined if JSON.stringify fails, for example if the value is nested too deep. */
export function tryPrint(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const OPEN_ARRAY = 91;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

function keyText(raw: string): string {
  return raw.includes("\\") ? (JSON.parse(`"${raw}"`) as string) : raw;
}

function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9;
}

export function skipSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

function stringEnd(text: string, quoteAt: number): number {
  for (let at = text.indexOf('"', quoteAt + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    if (!isEscaped(text, at)) return at + 1;
  }
  return text.length;
}

function valueEnd(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return stringEnd(text, start);
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return scalarEnd(text, start);
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = stringEnd(text, at) - 1;
    else if (code === OPEN_OBJECT || code === OPEN_ARRAY) depth += 1;
    else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth -= 1;
    if (depth === 0) return at + 1;
  }
  return text.length;
}

function scalarEnd(text: string, start: number): number {
  let at = start;
  while (at < text.length && !endsScalar(text.charCodeAt(at))) at += 1;
  return at;
}

function endsScalar(code: number): boolean {
  return code === COMMA || code === CLOSE_OBJECT || code === CLOSE_ARRAY || isSpace(code);
}

/**
 * Bounds the time to parse text from outside: `JSON.parse` takes seconds for 30 MiB of brackets.
 * Several texts of one answer share a budget. Does not check that the text is JSON, and only looks
 * for the end of each string.
 */
export class JsonBudget {
  readonly #valuesMax: number;
  #values = 0;
  #keys = 0;
  #stepsLeft = PARSED_STEPS_MAX;
  #escapes = 0;

  /** `valuesMax` bounds values and keys together. The default suffices for the largest answer. */
  constructor(valuesMax = PARSED_VALUES_MAX) {
    this.#valuesMax = valuesMax;
  }

  /** Charges a text to the budget; false if it is nested too deep or the budget is used up. */
  allows(text: string): boolean {
    let depth = 0;
    let at = 0;
    // The offset at which the text has used up its steps, one for each character. A skipped string
    // costs no steps, so it moves this offset on by its length.
    let endAt = this.#stepsLeft;
    while (at < text.length) {
      if (at >= endAt) return false;
      const code = text.charCodeAt(at);
      at += 1;
      if (code === QUOTE) {
        const behind = this.#behindString(text, at);
        endAt += behind - at;
        at = behind;
      } else if (code === COLON) this.#keys += 1;
      else if (code === COMMA) this.#values += 1;
      else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
        this.#values += 1;
        depth += 1;
      } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth -= 1;
      else continue;
      if (depth > JSON_DEPTH_MAX || this.#isSpent()) return false;
    }
    this.#stepsLeft = endAt - at;
    return true;
  }

  #behindString(text: string, from: number): number {
    for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 1)) {
      const slashes = countBackslashes(text, at);
      this.#escapes += slashes;
      if (slashes % 2 === 0) return at + 1;
      if (this.#isSpent()) break;
    }
    return text.length;
  }

  #isSpent(): boolean {
    return (
      this.#values + this.#keys > this.#valuesMax ||
      this.#keys > PARSED_KEYS_MAX ||
      this.#escapes > PARSED_STEPS_MAX
    );
  }
}

const COLON = 58;
