import type { JsonText } from "./json-text.ts";
import type { WordTable } from "./json-keys.ts";

/** The index of a node on the tape of a document. The root is 0. */
export type JsonNode = number;

/** Returned by look-ups for a member that the object does not have. */
export const ABSENT: JsonNode = -1;

/** Tape entries of one node: kind and flags, start, end, next sibling (for a key: its word id). */
export const NODE_SIZE = 4;

export const OBJECT_KIND = 1;

export const ARRAY_KIND = 2;

export const STRING_KIND = 3;

export const NUMBER_KIND = 4;

export const TRUE_KIND = 5;

export const FALSE_KIND = 6;

export const NULL_KIND = 7;
const KIND_MASK = 7;
/** Set on strings and keys that contain a backslash. */
export const ESCAPED_FLAG = 8;
/** Set on keys, whose fourth entry is a word id. */
export const KEY_FLAG = 16;

/**
 * A checked JSON body: its bytes, and a tape with the position of each value. A value is decoded
 * only when it is read. The children of an object are key, value, key, …
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

  /** Offset of the first byte of the value; for a string, of its opening quote. */
  start(node: JsonNode): number {
    return this.#entry(node + 1);
  }

  /** Offset after the last byte of the value. */
  end(node: JsonNode): number {
    return this.#entry(node + 2);
  }

  /** The node that follows this value and all its children. Not for keys. */
  next(node: JsonNode): JsonNode {
    return this.#entry(node + 3);
  }

  /** Counts this value and the keys and values in it; a container too deep for the tape counts as one. */
  count(node: JsonNode): number {
    return (this.next(node) - node) / NODE_SIZE;
  }

  /** The word id of a key, after its escapes are decoded; 0 if it is not a known word. */
  keyWord(key: JsonNode): number {
    return this.#entry(key + 3);
  }

  /** The word id of a string value; 0 if it is not a known word. */
  word(node: JsonNode): number {
    if ((this.#entry(node) & ESCAPED_FLAG) !== 0) return this.#words.findId(this.text(node));
    return this.#words.find(this.body, this.start(node) + 1, this.end(node) - 1);
  }

  /** The value of the first member whose key is this word, or `ABSENT`. */
  member(object: JsonNode, wordId: number): JsonNode {
    const end = this.next(object);
    let key = object + NODE_SIZE;
    while (key < end) {
      if (this.keyWord(key) === wordId) return key + NODE_SIZE;
      key = this.next(key + NODE_SIZE);
    }
    return ABSENT;
  }

  /** As `member`, but `ABSENT` for a null value too. */
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

  /** The key nodes of an object. */
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

  /** The text of the value as it was sent. */
  raw(node: JsonNode): JsonText {
    return this.body.toString("latin1", this.start(node), this.end(node)) as JsonText;
  }

  /** Parses the value. For small values that are read as a whole. */
  value(node: JsonNode): unknown {
    return JSON.parse(this.body.toString("utf8", this.start(node), this.end(node)));
  }

  #entry(index: number): number {
    return this.#tape[index] ?? 0;
  }
}
