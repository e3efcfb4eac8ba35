/** Bytes `start` to `end` of the old text give way to `text`. */
export interface Edit {
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
