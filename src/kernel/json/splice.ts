import { ABSENT, type JsonDocument, type JsonNode } from "./json-document.ts";
import type { JsonText } from "./json-text.ts";

/**
 * Edits of a JSON object that leave every other byte as it was sent. Use: collect the edits, then
 * take `result` once. At least one member of the top level must be kept. What is edited inside a
 * removed member goes with it.
 */
export class Splice {
  readonly #doc: JsonDocument;
  readonly #edits: Edit[] = [];
  /** Keys by their object: where a cut starts and ends depends on all of them. */
  readonly #removed = new Map<JsonNode, Set<JsonNode>>();
  readonly #prefixes = new Map<JsonNode, string>();
  #inserted = "";

  constructor(doc: JsonDocument) {
    this.#doc = doc;
  }

  /** Replaces a value, or a key, which is a string too. */
  replace(node: JsonNode, text: JsonText): void {
    this.#edits.push({ start: this.#doc.start(node), end: this.#doc.end(node), text });
  }

  /** Replaces any bytes between two places of the body. */
  replaceBetween(place: { readonly start: number; readonly end: number }, text: string): void {
    this.#edits.push({ ...place, text });
  }

  /** Adds a member at the end of the top level. */
  insert(name: string, text: JsonText): void {
    this.#inserted += `,"${name}":${text}`;
  }

  /** Adds a member at the start of an object that lies inside the body. */
  insertInto(object: JsonNode, name: string, text: JsonText): void {
    const before = this.#prefixes.get(object);
    const member = `"${name}":${text}`;
    this.#prefixes.set(object, before === undefined ? member : `${before},${member}`);
  }

  /** Removes the top-level members with these keys. */
  remove(words: readonly number[]): void {
    this.removeFrom(0, words);
  }

  /** Removes members of an object inside the body; all of them may go. */
  removeFrom(object: JsonNode, words: readonly number[]): void {
    const doc = this.#doc;
    for (const key of doc.keys(object)) {
      if (words.includes(doc.keyWord(key))) this.removeKey(object, key);
    }
  }

  /** Removes one member of an object. */
  removeKey(object: JsonNode, key: JsonNode): void {
    const keys = this.#removed.get(object);
    if (keys === undefined) this.#removed.set(object, new Set([key]));
    else keys.add(key);
  }

  /** The edited body, to be written where it is sent from. */
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
    for (const key of doc.keys(object)) {
      const valueEnd = doc.end(doc.valueOf(key));
      if (removed.has(key)) {
        // After a kept member, the preceding comma is cut too; before the first one, the following
        // comma.
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

/** Without the edits inside of others; the edits are sorted, and the longer ones come first. */
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

/** Bytes `start` to `end` of the old text give way to `text`. */
interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * A text with edits that are not made yet: it is written once, where it is sent from. The text must
 * not change until then.
 */
export class EditedBytes {
  readonly length: number;
  readonly #text: Buffer;
  readonly #edits: readonly Edit[];

  /** The edits are in the order of their places, and none overlaps another. */
  constructor(text: Buffer, edits: readonly Edit[]) {
    let { length } = text;
    for (const edit of edits) length += edit.text.length - (edit.end - edit.start);
    this.length = length;
    this.#text = text;
    this.#edits = edits;
  }

  /** Fills `target`, which is at least as long. */
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
