import { ABSENT, type JsonDocument, type JsonNode } from "./json-document.ts";
import type { JsonText } from "./json-text.ts";

/**
 * Edits a JSON object and leaves all other bytes as the client sent them. Collect edits, then call
 * `result` once. At least one top-level member must stay. Edits inside a removed member are
 * dropped.
 */
export class Splice {
  readonly #doc: JsonDocument;
  readonly #edits: Edit[] = [];
  /** Removed keys by object. `result` cuts them: which commas go depends on all removed keys. */
  readonly #removed = new Map<JsonNode, Set<JsonNode>>();
  readonly #prefixes = new Map<JsonNode, string>();
  #inserted = "";

  constructor(doc: JsonDocument) {
    this.#doc = doc;
  }

  replace(node: JsonNode, text: JsonText): void {
    this.#edits.push({ start: this.#doc.start(node), end: this.#doc.end(node), text });
  }

  replaceBetween(place: { readonly start: number; readonly end: number }, text: string): void {
    this.#edits.push({ ...place, text });
  }

  /** Adds a member at the end of the root object. */
  insert(name: string, text: JsonText): void {
    this.#inserted += `,"${name}":${text}`;
  }

  /** Adds a member at the start of an inner object. */
  insertInto(object: JsonNode, name: string, text: JsonText): void {
    const before = this.#prefixes.get(object);
    const member = `"${name}":${text}`;
    this.#prefixes.set(object, before === undefined ? member : `${before},${member}`);
  }

  remove(words: readonly number[]): void {
    this.removeFrom(0, words);
  }

  /** Removes the members with these keys. An inner object may lose all its members. */
  removeFrom(object: JsonNode, words: readonly number[]): void {
    const doc = this.#doc;
    for (const key of doc.keys(object)) {
      if (words.includes(doc.keyWord(key))) this.removeKey(object, key);
    }
  }

  /** Removes one member of an object or, where `object` is a list, the item `key`. */
  removeKey(object: JsonNode, key: JsonNode): void {
    const keys = this.#removed.get(object);
    if (keys === undefined) this.#removed.set(object, new Set([key]));
    else keys.add(key);
  }

  /** Returns the edited body. Its bytes are written only when it is sent. */
  result(): EditedBytes {
    for (const [object, keys] of this.#removed) this.#cutAll(object, keys);
    for (const [object, text] of this.#prefixes) this.#prefix(object, text);
    if (this.#inserted !== "") {
      const at = this.#doc.end(0) - 1;
      this.#edits.push({ start: at, end: at, text: this.#inserted });
    }
    this.#edits.sort((a, b) => a.start - b.start || b.end - a.end);
    return new EditedBytes(this.#doc.body, outermost(this.#edits));
  }

  #cutAll(object: JsonNode, removed: ReadonlySet<JsonNode>): void {
    const doc = this.#doc;
    let keptEnd = ABSENT;
    let droppedFrom = ABSENT;
    let previousEnd = ABSENT;
    const isList = doc.isArray(object);
    for (const key of isList ? doc.items(object) : doc.keys(object)) {
      const valueEnd = doc.end(isList ? key : doc.valueOf(key));
      if (removed.has(key)) {
        // The comma before a removed member goes if an earlier member stays; else, the comma after.
        if (keptEnd !== ABSENT) this.#cut(previousEnd, valueEnd);
        else if (droppedFrom === ABSENT) droppedFrom = doc.start(key);
      } else {
        if (keptEnd === ABSENT && droppedFrom !== ABSENT) this.#cut(droppedFrom, doc.start(key));
        keptEnd = valueEnd;
      }
      previousEnd = valueEnd;
    }
    if (keptEnd === ABSENT && droppedFrom !== ABSENT) this.#cut(droppedFrom, previousEnd);
  }

  #prefix(object: JsonNode, text: string): void {
    const at = this.#doc.start(object) + 1;
    const kept = this.#doc.keys(object).length - (this.#removed.get(object)?.size ?? 0);
    this.#edits.push({ start: at, end: at, text: kept > 0 ? `${text},` : text });
  }

  #cut(start: number, end: number): void {
    this.#edits.push({ start, end, text: "" });
  }
}

/** Drops edits inside other edits. `edits` must be sorted by start, longest first at each start. */
function outermost(edits: readonly Edit[]): readonly Edit[] {
  let end = 0;
  let kept: Edit[] | undefined;
  for (const [index, edit] of edits.entries()) {
    if (edit.start < end) kept ??= edits.slice(0, index);
    else {
      kept?.push(edit);
      end = Math.max(end, edit.end);
    }
  }
  return kept ?? edits;
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Text whose edits are applied while it is written. Until then, the text must not change. */
export class EditedBytes {
  readonly length: number;
  readonly #text: Buffer;
  readonly #edits: readonly Edit[];

  /** `edits` must be sorted by offset and must not overlap. */
  constructor(text: Buffer, edits: readonly Edit[]) {
    let { length } = text;
    for (const edit of edits) length += edit.text.length - (edit.end - edit.start);
    this.length = length;
    this.#text = text;
    this.#edits = edits;
  }

  /** `target` must have at least `length` bytes. */
  writeTo(target: Buffer): void {
    const text = this.#text;
    let from = 0;
    let to = 0;
    for (const edit of this.#edits) {
      to += text.copy(target, to, from, edit.start);
      to += target.write(edit.text, to, "latin1");
      from = edit.end;
    }
    text.copy(target, to, from);
  }

  toBuffer(): Buffer {
    const target = Buffer.allocUnsafe(this.length);
    this.writeTo(target);
    return target;
  }
}
