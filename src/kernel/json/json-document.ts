import type { JsonText } from "./json-text.ts";
import type { WordTable } from "./json-keys.ts";

/** The index of a value or key on a document's tape, an array of integers. The root has index 0. */
export type JsonNode = number;

/** Returned instead of a node if the object has no member with the key. */
export const ABSENT: JsonNode = -1;

/** A node's tape entries: kind and flags, start, end, next sibling (for a key: its word id). */
export const NODE_SIZE = 4;
const START = 1;
const END = 2;
const NEXT = 3;

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
export const KEY_FLAG = 16;

/** A value whose bytes were already scanned in an earlier body, with the tape of that scan. */
export interface KnownPart {
  /** Offsets and indexes are relative to the value's start, so the tape fits anywhere in a body. */
  readonly tape: Int32Array;
  readonly passed: Set<object>;
}

export interface PlacedPart {
  readonly known: KnownPart;
  readonly node: JsonNode;
  readonly start: number;
}

/**
 * A checked JSON body: its bytes, and a tape with the positions of the values that are not nested
 * too deep. Values are decoded only when read. An object's children are key, value, key, value, …
 */
export class JsonDocument {
  readonly body: Buffer;
  /** Does not contain the entries of `#part`, which are read from the part's own tape. */
  readonly #tape: Int32Array;
  readonly #words: WordTable;
  readonly #part: PlacedPart | undefined;
  /** The first node of `#part`, or the tape's end. `#tape` has later nodes at lower indexes. */
  readonly #partNode: JsonNode;

  constructor(
    body: Buffer,
    words: WordTable,
    { tape, part }: { readonly tape: Int32Array; readonly part?: PlacedPart | undefined },
  ) {
    this.body = body;
    this.#tape = tape;
    this.#words = words;
    this.#part = part;
    this.#partNode = part?.node ?? tape.length;
  }

  /** True if the value passed `check` in an earlier body. `check` must depend on the bytes only. */
  hasPassed(node: JsonNode, check: object): boolean {
    return node === this.#part?.node && this.#part.known.passed.has(check);
  }

  /** Remembers that the value passed `check`, if its bytes are known from an earlier body. */
  notePassed(node: JsonNode, check: object): void {
    if (node === this.#part?.node) this.#part.known.passed.add(check);
  }

  kind(node: JsonNode): number {
    return this.#entry(node, 0) & KIND_MASK;
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

  /** The offset of the node's first byte in the body; for a string, of its opening quote. */
  start(node: JsonNode): number {
    return this.#entry(node, START);
  }

  end(node: JsonNode): number {
    return this.#entry(node, END);
  }

  /** Returns the node after this value and everything in it. Not for keys. */
  next(node: JsonNode): JsonNode {
    return this.#entry(node, NEXT);
  }

  /** Counts this value, and values and keys in it. A container too deep to record counts as one. */
  count(node: JsonNode): number {
    return (this.next(node) - node) / NODE_SIZE;
  }

  /** Returns the word id of a key, after its escapes are decoded; 0 if the key is no known word. */
  keyWord(key: JsonNode): number {
    return this.#entry(key, NEXT);
  }

  /** Returns the word id of a string value; 0 if the string is no known word. */
  word(node: JsonNode): number {
    if ((this.#entry(node, 0) & ESCAPED_FLAG) !== 0) return this.#words.findId(this.text(node));
    return this.#words.find(this.body, this.start(node) + 1, this.end(node) - 1);
  }

  /** Returns the value of the first member with this key, or `ABSENT`. */
  member(object: JsonNode, wordId: number): JsonNode {
    const end = this.next(object);
    let key = object + NODE_SIZE;
    while (key < end) {
      if (this.keyWord(key) === wordId) return key + NODE_SIZE;
      key = this.next(key + NODE_SIZE);
    }
    return ABSENT;
  }

  /** Like `member`, but also returns `ABSENT` if the value is null. */
  present(object: JsonNode, wordId: number): JsonNode {
    const node = this.member(object, wordId);
    return node === ABSENT || this.isNull(node) ? ABSENT : node;
  }

  items(array: JsonNode): JsonNode[] {
    const items: JsonNode[] = [];
    const end = this.next(array);
    for (let node = array + NODE_SIZE; node < end; node = this.next(node)) items.push(node);
    return items;
  }

  keys(object: JsonNode): JsonNode[] {
    const keys: JsonNode[] = [];
    const end = this.next(object);
    for (let key = object + NODE_SIZE; key < end; key = this.next(key + NODE_SIZE)) keys.push(key);
    return keys;
  }

  valueOf(key: JsonNode): JsonNode {
    return key + NODE_SIZE;
  }

  keyOf(value: JsonNode): JsonNode {
    return value - NODE_SIZE;
  }

  text(node: JsonNode): string {
    const start = this.start(node);
    const end = this.end(node);
    if ((this.#entry(node, 0) & ESCAPED_FLAG) === 0)
      return this.body.toString("utf8", start + 1, end - 1);
    return JSON.parse(this.body.toString("utf8", start, end)) as string;
  }

  number(node: JsonNode): number {
    return Number(this.body.toString("latin1", this.start(node), this.end(node)));
  }

  /** The bytes of the value as the client sent them. */
  raw(node: JsonNode): JsonText {
    return this.body.toString("latin1", this.start(node), this.end(node)) as JsonText;
  }

  /** Parses the whole value, so use it only for small ones. */
  value(node: JsonNode): unknown {
    return JSON.parse(this.body.toString("utf8", this.start(node), this.end(node)));
  }

  #entry(node: JsonNode, entry: number): number {
    return node < this.#partNode
      ? (this.#tape[node + entry] ?? 0)
      : this.#entryFromPart(node, entry);
  }

  #entryFromPart(node: JsonNode, entry: number): number {
    if (this.#part === undefined) return 0;
    const { known, node: partNode, start } = this.#part;
    const { tape } = known;
    const at = node - partNode;
    if (at >= tape.length) return this.#tape[node - tape.length + entry] ?? 0;
    const read = tape[at + entry] ?? 0;
    if (entry === START || entry === END) return read + start;
    // The last entry of a key is its word id, not an index.
    return entry === NEXT && ((tape[at] ?? 0) & KEY_FLAG) === 0 ? read + partNode : read;
  }
}
