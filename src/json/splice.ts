import { type Edit, EditedBytes } from "./edited-bytes.ts";
import { ABSENT, type JsonDocument, type JsonNode } from "./json-document.ts";
import type { JsonText } from "./json-text.ts";

/**
 * Edits of the top level of a JSON object that leave every other byte as it was sent. Use: collect
 * the edits, then take `result` once. At least one member must be kept.
 */
export class Splice {
  readonly #doc: JsonDocument;
  readonly #edits: Edit[] = [];
  #inserted = "";

  constructor(doc: JsonDocument) {
    this.#doc = doc;
  }

  replace(value: JsonNode, text: JsonText): void {
    this.#edits.push({ start: this.#doc.start(value), end: this.#doc.end(value), text });
  }

  /** Adds a member at the end of the top level. */
  insert(name: string, text: JsonText): void {
    this.#inserted += `,"${name}":${text}`;
  }

  /** Adds a member at the start of an object that lies inside the body. */
  insertInto(object: JsonNode, name: string, text: JsonText): void {
    const at = this.#doc.start(object) + 1;
    const comma = this.#doc.keys(object).length > 0 ? "," : "";
    this.#edits.push({ start: at, end: at, text: `"${name}":${text}${comma}` });
  }

  /** Removes the top-level members whose key is one of these names. */
  remove(words: readonly number[]): void {
    this.removeFrom(0, words);
  }

  /** Removes members of an object inside the body; all of them may go. */
  removeFrom(object: JsonNode, words: readonly number[]): void {
    const doc = this.#doc;
    let keptEnd = ABSENT;
    let droppedFrom = ABSENT;
    let previousEnd = ABSENT;
    for (const key of doc.keys(object)) {
      const valueEnd = doc.end(doc.valueOf(key));
      if (words.includes(doc.keyWord(key))) {
        // Behind a kept member the comma in front goes too; before the first one, the comma behind.
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

  /** The edited body, to be written where it is sent from. */
  result(): EditedBytes {
    if (this.#inserted !== "") {
      const at = this.#doc.end(0) - 1;
      this.#edits.push({ start: at, end: at, text: this.#inserted });
    }
    this.#edits.sort((a, b) => a.start - b.start);
    return new EditedBytes(this.#doc.body, this.#edits);
  }

  #cut(start: number, end: number): void {
    this.#edits.push({ start, end, text: "" });
  }
}
