import { cutText } from "../core/visible-text.ts";

/** Where a text stops being JSON. Lines and columns count from 1, columns in UTF-16 units. */
export interface JsonFlaw {
  readonly rule: "json-syntax" | "json-depth" | "json-size";
  readonly line: number;
  readonly column: number;
  readonly expected: string;
}

type Reading<T> =
  | { readonly ok: true; readonly value: T; readonly duplicateKeys: readonly string[] }
  | { readonly ok: false; readonly flaw: JsonFlaw };

/** The deepest nesting that is read; a manifest needs six levels. */
export const JSON_DEPTH_MAX: number = 32;

/** The most values that are read: enough for well over a thousand listings. */
export const JSON_VALUES_MAX: number = 100_000;

/**
 * Parses JSON and reports what `JSON.parse` does not: the pointers of duplicate keys, and the line
 * and column of the first flaw. The flaw does not quote the text, which may contain a secret.
 */
export function readJson(text: string): Reading<unknown> {
  const reading = readRawJson(text, JSON_VALUES_MAX);
  return reading.ok ? { ...reading, value: JSON.parse(text) } : reading;
}

/** A JSON number as the document writes it, such as `2e-07`, so that no digit is lost. */
export class RawNumber {
  readonly raw: string;
  constructor(raw: string) {
    this.raw = raw;
  }
}

export type RawObject = ReadonlyMap<string, RawJson>;

/** Parsed JSON that keeps the digits of numbers. Objects are maps: no key changes a prototype. */
export type RawJson = string | boolean | null | RawNumber | readonly RawJson[] | RawObject;

/** Like `readJson`, but keeps numbers as written. The caller bounds the number of values. */
export function readRawJson(text: string, valuesMax: number): Reading<RawJson> {
  const scan = new JsonScan(text, valuesMax);
  try {
    return { ok: true, value: scan.document(), duplicateKeys: scan.duplicateKeys };
  } catch (error) {
    if (error instanceof Flaw) return { ok: false, flaw: locate(text, error) };
    throw error;
  }
}

class Flaw extends Error {
  readonly rule: JsonFlaw["rule"];
  readonly offset: number;
  constructor(rule: JsonFlaw["rule"], offset: number, expected: string) {
    super(expected);
    this.rule = rule;
    this.offset = offset;
  }
}

function locate(text: string, flaw: Flaw): JsonFlaw {
  const before = text.slice(0, flaw.offset).split(/\r\n|\r|\n/);
  const column = (before.at(-1) ?? "").length + 1;
  return { rule: flaw.rule, line: before.length, column, expected: flaw.message };
}

const BLANK = /[ \t\n\r]*/y;
/** `unescaped` of RFC 8259: everything but quote, backslash and control characters. */
const PLAIN_TEXT = /[\x20\x21\x23-\x5b\x5d-\uffff]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const WORD = /true|false|null/y;

class JsonScan {
  readonly duplicateKeys: string[] = [];
  readonly #text: string;
  readonly #valuesMax: number;
  readonly #path: (string | number)[] = [];
  #offset = 0;
  #values = 0;

  constructor(text: string, valuesMax: number) {
    this.#text = text;
    this.#valuesMax = valuesMax;
  }

  document(): RawJson {
    this.#take(BLANK);
    const value = this.#value();
    if (this.#offset < this.#text.length) this.#fail("the end of the document");
    return value;
  }

  #value(): RawJson {
    this.#values += 1;
    if (this.#values > this.#valuesMax) {
      throw new Flaw("json-size", this.#offset, `at most ${this.#valuesMax} values`);
    }
    const value = this.#bareValue();
    this.#take(BLANK);
    return value;
  }

  #bareValue(): RawJson {
    const first = this.#text[this.#offset];
    if (first === "{") return this.#object();
    if (first === "[") return this.#array();
    if (first === '"') return this.#string();
    const number = this.#take(NUMBER);
    if (number !== undefined) return new RawNumber(number);
    const word = this.#take(WORD);
    if (word === undefined) this.#fail("a value");
    return word === "null" ? null : word === "true";
  }

  #object(): RawObject {
    this.#open("{");
    const members = new Map<string, RawJson>();
    if (this.#text[this.#offset] !== "}") {
      do this.#member(members);
      while (this.#comma());
    }
    this.#close("}");
    return members;
  }

  #member(members: Map<string, RawJson>): void {
    this.#take(BLANK);
    if (this.#text[this.#offset] !== '"') this.#fail("a key in double quotes");
    const key = this.#string();
    if (members.has(key)) this.duplicateKeys.push(pointerTo([...this.#path, key]));
    this.#take(BLANK);
    if (this.#text[this.#offset] !== ":") this.#fail("a colon");
    this.#offset += 1;
    members.set(key, this.#within(key));
  }

  #array(): RawJson[] {
    this.#open("[");
    const items: RawJson[] = [];
    if (this.#text[this.#offset] !== "]") {
      do items.push(this.#within(items.length));
      while (this.#comma());
    }
    this.#close("]");
    return items;
  }

  #within(step: string | number): RawJson {
    this.#path.push(step);
    this.#take(BLANK);
    const value = this.#value();
    this.#path.pop();
    return value;
  }

  #string(): string {
    const start = this.#offset;
    this.#offset += 1;
    do this.#take(PLAIN_TEXT);
    while (this.#take(ESCAPE) !== undefined);
    const next = this.#text[this.#offset];
    if (next === "\\") this.#fail("a valid escape");
    if (next !== '"') this.#fail("a closing double quote");
    this.#offset += 1;
    return JSON.parse(this.#text.slice(start, this.#offset)) as string;
  }

  #open(bracket: "{" | "["): void {
    if (this.#path.length >= JSON_DEPTH_MAX) {
      throw new Flaw("json-depth", this.#offset, `at most ${JSON_DEPTH_MAX} levels`);
    }
    this.#offset += bracket.length;
    this.#take(BLANK);
  }

  #comma(): boolean {
    if (this.#text[this.#offset] !== ",") return false;
    this.#offset += 1;
    return true;
  }

  #close(bracket: "}" | "]"): void {
    if (this.#text[this.#offset] !== bracket) this.#fail(`a comma or ${bracket}`);
    this.#offset += 1;
  }

  /** Returns the match at the current offset and moves past it; undefined if there is none. */
  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#offset;
    const found = pattern.exec(this.#text)?.[0];
    if (found === undefined || found === "") return undefined;
    this.#offset += found.length;
    return found;
  }

  #fail(expected: string): never {
    throw new Flaw("json-syntax", this.#offset, expected);
  }
}

/** Formats a JSON pointer (RFC 6901); "" is the whole document. */
export function pointerTo(path: readonly (string | number)[]): string {
  return path
    .map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`)
    .join("");
}

/** Names the end of a pointer for people: `base_url`, `pricing[1]`, `the manifest`. */
export function placeName(pointer: string): string {
  const steps = pointer.split("/").slice(1);
  const last = steps.at(-1);
  if (last === undefined) return "the manifest";
  const name = cutText(last.replaceAll("~1", "/").replaceAll("~0", "~"));
  const parent = steps.at(-2);
  return parent !== undefined && /^[0-9]+$/.test(name) ? `${parent}[${name}]` : name;
}
