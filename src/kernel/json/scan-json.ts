import { isUtf8 } from "node:buffer";

import {
  ARRAY_KIND,
  ESCAPED_FLAG,
  FALSE_KIND,
  JsonDocument,
  KEY_FLAG,
  NODE_SIZE,
  NULL_KIND,
  NUMBER_KIND,
  OBJECT_KIND,
  type PlacedPart,
  STRING_KIND,
  TRUE_KIND,
} from "./json-document.ts";
import {
  JSON_DEPTH_MAX,
  JSON_KEYS_MAX,
  JSON_VALUES_MAX,
  type JsonFault,
  PASSED_VALUES_MAX,
  READ_DEPTH_MAX,
} from "./json-limits.ts";
import {
  ARRAY_ITEM,
  defaultRules,
  type KeyRules,
  pathOfKey,
  type RuleWords,
  compileRules,
  WordTable,
} from "./json-keys.ts";
import { escapeLength, firstBadByte, numberEnd, PlainRun } from "./json-text.ts";
import { RepeatedParts } from "./repeated-parts.ts";

/** Checks bytes against RFC 8259 and records values. Never throws; its recursion is bounded. */
export function scanJson(
  body: Buffer,
  words: WordTable,
  rules: KeyRules = defaultRules,
): ScannedJson {
  if (!isUtf8(body)) {
    return { ok: false, fault: { fault: "encoding", offset: firstBadByte(body) } };
  }
  const scan = new Scan(body, words, compileRules(rules, words));
  const fault = scan.run();
  if (fault !== undefined) return { ok: false, fault };
  return { ok: true, doc: new JsonDocument(body, words, scan.takeTape()) };
}

/**
 * Finds the end of the JSON value at `start` in UTF-8 text; undefined if the value is invalid or
 * exceeds the bounds. Records nothing, so the value may be far larger than a document.
 */
export function valueEndIn(body: Buffer, start: number): number | undefined {
  return new Scan(body, NO_WORDS, compileRules(defaultRules, NO_WORDS), NOTHING).endOfValue(start);
}

export type ScannedJson =
  | { readonly ok: true; readonly doc: JsonDocument }
  | { readonly ok: false; readonly fault: JsonFault };

interface Kept {
  /** A value inside more open containers than this is checked, but not recorded in the document. */
  readonly deepest: number;
  readonly keysMax: number;
  /** The most values and keys that are checked but not recorded. */
  readonly othersMax: number;
}

const FOR_READING: Kept = {
  deepest: READ_DEPTH_MAX + 1,
  keysMax: JSON_KEYS_MAX,
  othersMax: Infinity,
};
const NOTHING: Kept = { deepest: -1, keysMax: Infinity, othersMax: PASSED_VALUES_MAX };
const NO_WORDS = new WordTable([]);

const ENTRIES_MAX = JSON_VALUES_MAX * NODE_SIZE;
const SCRATCH_ENTRIES = 1 << 14;
const SCRATCH_KEPT_ENTRIES = 1 << 18;
/** Scans are synchronous, so all use this array, which grows. Each scan copies its tape from it. */
let scratch = new Int32Array(SCRATCH_ENTRIES);
const parts = new RepeatedParts();
const openNodes = new Int32Array(JSON_DEPTH_MAX + 2);
const openKinds = new Uint8Array(JSON_DEPTH_MAX + 2);
/** For each open container, the word id of its key; `ARRAY_ITEM` for an item of an array. */
const openWords = new Int32Array(JSON_DEPTH_MAX + 2);

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

class Scan {
  readonly #body: Buffer;
  readonly #words: WordTable;
  readonly #plainRun: PlainRun;
  readonly #rules: RuleWords;
  readonly #kept: Kept;
  #at = 0;
  #depth = 0;
  /** The number of entries that were written to `scratch`. */
  #top = 0;
  /** The value that was not scanned, because an earlier body had the same bytes. */
  #part: PlacedPart | undefined;
  /** Number of entries in the tape of `#part`; added to the index of each node after it. */
  #partEntries = 0;
  /** How many entries `scratch` may get before it must grow or the body has too many values. */
  #room = scratch.length;
  #keys = 0;
  #others = 0;
  #lastKey = 0;
  /** The node of the value that `KeyRules.repeated` names; -2 if it has not been scanned. */
  #partNode = -2;
  #keysBefore = 0;
  /** True if the string that was skipped last contains a backslash. */
  #escaped = false;
  #fault: JsonFault | undefined;

  constructor(body: Buffer, words: WordTable, rules: RuleWords, kept = FOR_READING) {
    this.#body = body;
    this.#kept = kept;
    this.#words = words;
    this.#rules = rules;
    this.#plainRun = new PlainRun(body);
  }

  takeTape(): { readonly tape: Int32Array; readonly part: PlacedPart | undefined } {
    const tape = scratch.slice(0, this.#top);
    if (scratch.length > SCRATCH_KEPT_ENTRIES) scratch = new Int32Array(SCRATCH_ENTRIES);
    return { tape, part: this.#part };
  }

  /** Each step reads a value or what follows it, and returns false at the end or at a fault. */
  run(): JsonFault | undefined {
    let more = this.#value();
    while (more) more = this.#depth === 0 ? this.#onlySpaceLeft() : this.#afterValue();
    return this.#fault;
  }

  endOfValue(start: number): number | undefined {
    this.#at = start;
    let more = this.#value();
    while (more && this.#depth > 0) more = this.#afterValue();
    return this.#fault === undefined ? this.#at : undefined;
  }

  /** Reads one value; of a container that is not empty, only its start and its first value. */
  #value(): boolean {
    const first = this.#skipSpace();
    const start = this.#at;
    switch (first) {
      case QUOTE:
        return this.#skipString() && this.#leaf(STRING_KIND | this.#escapedBit(), start);
      case OPEN_BRACE:
        return this.#open(OBJECT_KIND) && (this.#closes(CLOSE_BRACE) || this.#keyAndValue());
      case OPEN_BRACKET:
        return this.#open(ARRAY_KIND) && (this.#closes(CLOSE_BRACKET) || this.#value());
      case 0x74:
        return this.#skipLiteral("true") && this.#leaf(TRUE_KIND, start);
      case 0x66:
        return this.#skipLiteral("false") && this.#leaf(FALSE_KIND, start);
      case 0x6e:
        return this.#skipLiteral("null") && this.#leaf(NULL_KIND, start);
      default:
        return this.#skipNumber() && this.#leaf(NUMBER_KIND, start);
    }
  }

  #afterValue(): boolean {
    const next = this.#skipSpace();
    const inObject = openKinds[this.#depth] === OBJECT_KIND;
    if (next === COMMA) {
      this.#at += 1;
      return inObject ? this.#keyAndValue() : this.#value();
    }
    if (next !== (inObject ? CLOSE_BRACE : CLOSE_BRACKET)) return this.#unexpected();
    return this.#close();
  }

  #onlySpaceLeft(): boolean {
    this.#skipSpace();
    return this.#at < this.#body.length ? this.#unexpected() : false;
  }

  #keyAndValue(): boolean {
    if (this.#skipSpace() !== QUOTE) return this.#unexpected();
    const start = this.#at;
    if (!this.#skipString()) return false;
    this.#keys += 1;
    if (this.#keys > this.#kept.keysMax) return this.#fail("keys", start);
    const word = this.#keyWord(start);
    this.#lastKey = word;
    if (word !== 0 && this.#isForbidden(word)) return this.#failKey(start);
    const kind = STRING_KIND | KEY_FLAG | this.#escapedBit();
    if (!this.#record(kind, start, this.#at, word)) return false;
    if (this.#skipSpace() !== COLON) return this.#unexpected();
    this.#at += 1;
    return this.#mayRepeat(word) ? this.#repeatedValue() : this.#value();
  }

  /** True if the value may be a known part. A document has one at most: duplicates are scanned. */
  #mayRepeat(word: number): boolean {
    const isNamed = word !== 0 && word === this.#rules.repeated && this.#depth === 1;
    return isNamed && this.#part === undefined;
  }

  /** Skips the value if an earlier body had a value with the same bytes; otherwise scans it. */
  #repeatedValue(): boolean {
    this.#skipSpace();
    const start = this.#at;
    const known = parts.find(this.#body, start, this.#rules);
    if (known === undefined) {
      this.#partNode = this.#top;
      this.#keysBefore = this.#keys;
      return this.#value();
    }
    this.#keys += known.keys;
    if (this.#keys > this.#kept.keysMax) return this.#fail("keys", start);
    this.#part = { known, node: this.#top, start };
    this.#partEntries = known.tape.length;
    this.#room = this.#findRoom();
    if (this.#top > this.#room) return this.#fail("values", start);
    this.#at += known.bytes.length;
    return true;
  }

  #notePart(node: number): void {
    const rules = this.#rules;
    const keys = this.#keys - this.#keysBefore;
    const place = { start: scratch[node + 1] ?? 0, end: this.#at };
    parts.note(this.#body, place, { rules, keys, tape: () => scratch.slice(node, this.#top) });
  }

  #isForbidden(word: number): boolean {
    const { forbidden, forbiddenInFreeData } = this.#rules;
    if (!forbidden.includes(word)) return false;
    return forbiddenInFreeData.includes(word) || !this.#isInFreeData();
  }

  /** A path begins at `openWords[2]`: container 1 is the root, which has no key. */
  #isInFreeData(): boolean {
    return this.#rules.freeData.some(
      (path) =>
        path.length < this.#depth && path.every((word, index) => openWords[index + 2] === word),
    );
  }

  #keyWord(start: number): number {
    if (!this.#escaped) return this.#words.find(this.#body, start + 1, this.#at - 1);
    return this.#words.findId(JSON.parse(this.#body.toString("utf8", start, this.#at)) as string);
  }

  #escapedBit(): number {
    return this.#escaped ? ESCAPED_FLAG : 0;
  }

  #open(kind: number): boolean {
    if (this.#depth === JSON_DEPTH_MAX) return this.#fail("depth", this.#at);
    const node = this.#depth <= this.#kept.deepest ? this.#top : -1;
    if (!this.#record(kind, this.#at, 0, 0)) return false;
    const isValueOfKey = openKinds[this.#depth] === OBJECT_KIND;
    this.#depth += 1;
    openWords[this.#depth] = isValueOfKey ? this.#lastKey : ARRAY_ITEM;
    openNodes[this.#depth] = node;
    openKinds[this.#depth] = kind;
    this.#at += 1;
    return true;
  }

  #closes(closing: number): boolean {
    return this.#skipSpace() === closing && this.#close();
  }

  #close(): boolean {
    const node = openNodes[this.#depth] ?? -1;
    this.#depth -= 1;
    this.#at += 1;
    if (node >= 0) {
      scratch[node + 2] = this.#at;
      scratch[node + 3] = this.#top + this.#partEntries;
      if (node === this.#partNode) this.#notePart(node);
    }
    return true;
  }

  #leaf(kind: number, start: number): boolean {
    return this.#record(kind, start, this.#at, this.#top + this.#partEntries + NODE_SIZE);
  }

  #record(kind: number, start: number, end: number, next: number): boolean {
    if (this.#depth > this.#kept.deepest) return this.#countOther();
    const top = this.#top;
    if (top + NODE_SIZE > this.#room && !this.#makeRoom()) return this.#fail("values", start);
    scratch[top] = kind;
    scratch[top + 1] = start;
    scratch[top + 2] = end;
    scratch[top + 3] = next;
    this.#top = top + NODE_SIZE;
    return true;
  }

  #makeRoom(): boolean {
    if (this.#room < scratch.length || !growScratch()) return false;
    this.#room = this.#findRoom();
    return this.#top + NODE_SIZE <= this.#room;
  }

  #findRoom(): number {
    return Math.min(scratch.length, ENTRIES_MAX - this.#partEntries);
  }

  #countOther(): boolean {
    this.#others += 1;
    return this.#others <= this.#kept.othersMax || this.#fail("values", this.#at);
  }

  #skipSpace(): number {
    const body = this.#body;
    let at = this.#at;
    let byte = body[at];
    while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = body[++at];
    this.#at = at;
    return byte ?? -1;
  }

  #skipString(): boolean {
    const body = this.#body;
    let at = this.#at + 1;
    this.#escaped = false;
    for (;;) {
      at = this.#plainRun.end(at);
      const stop = body[at];
      if (stop === QUOTE) break;
      if (stop !== BACKSLASH) return this.#fail("syntax", at);
      const escape = escapeLength(body, at + 1);
      if (escape === 0) return this.#fail("syntax", at);
      this.#escaped = true;
      at += 1 + escape;
    }
    this.#at = at + 1;
    return true;
  }

  #skipLiteral(literal: string): boolean {
    const start = this.#at;
    for (let i = 1; i < literal.length; i++) {
      if (this.#body[start + i] !== literal.charCodeAt(i)) return this.#fail("syntax", start + i);
    }
    this.#at = start + literal.length;
    return true;
  }

  #skipNumber(): boolean {
    const end = numberEnd(this.#body, this.#at);
    if (end < 0) return this.#fail("syntax", ~end);
    this.#at = end;
    return true;
  }

  #unexpected(): false {
    return this.#fail("syntax", this.#at);
  }

  #fail(fault: JsonFault["fault"], offset: number): false {
    this.#fault = { fault, offset };
    return false;
  }

  #failKey(offset: number): false {
    this.#fault = { fault: "forbidden_key", offset, path: pathOfKey(this.#body, offset) };
    return false;
  }
}

function growScratch(): boolean {
  if (scratch.length >= ENTRIES_MAX) return false;
  const grown = new Int32Array(Math.min(scratch.length * 4, ENTRIES_MAX));
  grown.set(scratch);
  scratch = grown;
  return true;
}
