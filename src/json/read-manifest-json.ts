import { pointerTo } from "./json-pointer.ts";

/** Where a text stops being JSON. Line and column count from 1, columns in UTF-16 units. */
export interface JsonFlaw {
  readonly rule: "json-syntax" | "json-depth" | "json-size";
  readonly line: number;
  readonly column: number;
  readonly expected: string;
}

export type JsonReading =
  | { readonly ok: true; readonly value: unknown; readonly duplicateKeys: readonly string[] }
  | { readonly ok: false; readonly flaw: JsonFlaw };

/** Deepest nesting of a document; a manifest needs six levels. */
export const JSON_DEPTH_MAX: number = 32;

/** Most values of a document, each field and element one: well over a thousand listings. */
export const JSON_VALUES_MAX: number = 100_000;

/**
 * Reads JSON and says what `JSON.parse` does not: the line and column of the first flaw, without
 * quoting the text (it may hold a secret), and the pointers of keys written twice.
 */
export function readJson(text: string): JsonReading {
  const scan = new JsonScan(text);
  try {
    scan.document();
  } catch (error) {
    if (error instanceof Flaw) return { ok: false, flaw: locate(text, error) };
    throw error;
  }
  return { ok: true, value: JSON.parse(text), duplicateKeys: scan.duplicateKeys };
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
/** `unescaped` of RFC 8259: all but the quote, the backslash and what is below the space. */
const PLAIN_TEXT = /[\x20\x21\x23-\x5b\x5d-\uffff]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const WORD = /true|false|null/y;

class JsonScan {
  readonly duplicateKeys: string[] = [];
  readonly #text: string;
  readonly #path: (string | number)[] = [];
  #offset = 0;
  #values = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): void {
    this.#take(BLANK);
    this.#value();
    if (this.#offset < this.#text.length) this.#fail("the end of the document");
  }

  #value(): void {
    this.#values += 1;
    if (this.#values > JSON_VALUES_MAX) {
      throw new Flaw("json-size", this.#offset, `at most ${JSON_VALUES_MAX} values`);
    }
    const first = this.#text[this.#offset];
    if (first === "{") this.#object();
    else if (first === "[") this.#array();
    else if (first === '"') this.#string();
    else if (this.#take(NUMBER) === undefined && this.#take(WORD) === undefined)
      this.#fail("a value");
    this.#take(BLANK);
  }

  #object(): void {
    this.#open("{");
    const keys = new Set<string>();
    if (this.#text[this.#offset] !== "}") {
      do this.#member(keys);
      while (this.#comma());
    }
    this.#close("}");
  }

  #member(keys: Set<string>): void {
    this.#take(BLANK);
    if (this.#text[this.#offset] !== '"') this.#fail("a key in double quotes");
    const key = this.#string();
    if (keys.has(key)) this.duplicateKeys.push(pointerTo([...this.#path, key]));
    keys.add(key);
    this.#take(BLANK);
    if (this.#text[this.#offset] !== ":") this.#fail("a colon");
    this.#offset += 1;
    this.#within(key);
  }

  #array(): void {
    this.#open("[");
    let index = 0;
    if (this.#text[this.#offset] !== "]") {
      do this.#within(index++);
      while (this.#comma());
    }
    this.#close("]");
  }

  #within(step: string | number): void {
    this.#path.push(step);
    this.#take(BLANK);
    this.#value();
    this.#path.pop();
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

  /** Moves past the pattern where it matches something; undefined where it does not. */
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
