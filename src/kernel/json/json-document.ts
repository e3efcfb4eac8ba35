import type { JsonText } from "./json-text.ts";
import type { WordTable } from "./json-keys.ts";

/** A place on the tape of a document. The root is 0. */
export type JsonNode = number;

/** The node that lookups return for a member that is not there. */
export const ABSENT: JsonNode = -1;

/** Tape entries of one node: kind and flags, start, end, next sibling (of a key: its word id). */
export const NODE_SIZE = 4;

export const OBJECT_KIND = 1;

export const ARRAY_KIND = 2;

export const STRING_KIND = 3;

export const NUMBER_KIND = 4;

export const TRUE_KIND = 5;

export const FALSE_KIND = 6;

export const NULL_KIND = 7;
const KIND_MASK = 7;
/** Set on strings and keys that hold a backslash. */
export const ESCAPED_FLAG = 8;
/** Set on keys, whose fourth entry is the id of a word. */
export const KEY_FLAG = 16;

/**
 * A checked JSON body: the bytes, and a tape with the position of each value. Values are read by
 * slice, so nothing is decoded that is not read. An object's children are key, value, key, …
 */
export class JsonDocument {
  readonly body: Buffer;
  readonly #tape: Int32Array;
  readonly #words: WordTable;

  constructor(body: Buffer, tape: Int32Array, words: WordTable) {
    this.body = body;
    this.#tape = tape;
    this.#words = words;
  }

  kind(node: JsonNode): number {
    return this.#entry(node) & KIND_MASK;
  }

  isObject(node: JsonNode): boolean {
    return this.kind(node) === OBJECT_KIND;
  }

  isArray(node: JsonNode): boolean {
    return this.kind(node) === ARRAY_KIND;
  }

  isString(node: JsonNode): boolean {
    return this.kind(node) === STRING_KIND;
  }

  isNull(node: JsonNode): boolean {
    return this.kind(node) === NULL_KIND;
  }

  isTrue(node: JsonNode): boolean {
    return this.kind(node) === TRUE_KIND;
  }

  /** First byte of the value; of a string its opening quote. */
  start(node: JsonNode): number {
    return this.#entry(node + 1);
  }

  /** One past the last byte of the value. */
  end(node: JsonNode): number {
    return this.#entry(node + 2);
  }

  /** The node behind this value and everything in it. Not for keys. */
  next(node: JsonNode): JsonNode {
    return this.#entry(node + 3);
  }

  /** Keys and values of a value, itself among them; what is nested too deep to be read is one. */
  count(node: JsonNode): number {
    return (this.next(node) - node) / NODE_SIZE;
  }

  /** The word id of a key, escapes undone; 0 when it is not a known word. */
  keyWord(key: JsonNode): number {
    return this.#entry(key + 3);
  }

  /** The word id of a string value; 0 when it is not a known word. */
  word(node: JsonNode): number {
    if ((this.#entry(node) & ESCAPED_FLAG) !== 0) return this.#words.findId(this.text(node));
    return this.#words.find(this.body, this.start(node) + 1, this.end(node) - 1);
  }

  /** The value of the first member whose key is this word, or `absent`. */
  member(object: JsonNode, wordId: number): JsonNode {
    const end = this.next(object);
    let key = object + NODE_SIZE;
    while (key < end) {
      if (this.keyWord(key) === wordId) return key + NODE_SIZE;
      key = this.next(key + NODE_SIZE);
    }
    return ABSENT;
  }

  /** Like `member`, and a null value counts as absent. */
  present(object: JsonNode, wordId: number): JsonNode {
    const node = this.member(object, wordId);
    return node === ABSENT || this.isNull(node) ? ABSENT : node;
  }

  /** The elements of an array. */
  items(array: JsonNode): JsonNode[] {
    const items: JsonNode[] = [];
    const end = this.next(array);
    for (let node = array + NODE_SIZE; node < end; node = this.next(node)) items.push(node);
    return items;
  }

  /** The key nodes of an object; a key's value is the node behind it. */
  keys(object: JsonNode): JsonNode[] {
    const keys: JsonNode[] = [];
    const end = this.next(object);
    for (let key = object + NODE_SIZE; key < end; key = this.next(key + NODE_SIZE)) keys.push(key);
    return keys;
  }

  /** The value of a key node. */
  valueOf(key: JsonNode): JsonNode {
    return key + NODE_SIZE;
  }

  /** The decoded text of a string or key. */
  text(node: JsonNode): string {
    const start = this.start(node);
    const end = this.end(node);
    if ((this.#entry(node) & ESCAPED_FLAG) === 0)
      return this.body.toString("utf8", start + 1, end - 1);
    return JSON.parse(this.body.toString("utf8", start, end)) as string;
  }

  number(node: JsonNode): number {
    return Number(this.body.toString("latin1", this.start(node), this.end(node)));
  }

  /** The value as it was sent. */
  raw(node: JsonNode): JsonText {
    return this.body.toString("latin1", this.start(node), this.end(node)) as JsonText;
  }

  /** The value parsed. For small values that are read as a whole. */
  value(node: JsonNode): unknown {
    return JSON.parse(this.body.toString("utf8", this.start(node), this.end(node)));
  }

  #entry(index: number): number {
    return this.#tape[index] ?? 0;
  }
}
