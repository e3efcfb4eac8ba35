/** 1 for the bytes that end the plain part of a string: quote, backslash, control characters. */
const stops = new Uint8Array(256);
stops.fill(1, 0, 0x20);
stops['"'.charCodeAt(0)] = 1;
stops["\\".charCodeAt(0)] = 1;

/** Below this many bytes checking one byte at a time is cheaper. */
const SHORT_RUN_BYTES = 16;

/**
 * Finds the end of the plain part of a JSON string in one body. Long runs are read four bytes at a
 * time: prompts are mostly such runs.
 */
export class PlainRun {
  readonly #body: Buffer;
  /** How far the body starts behind a four-byte border of its memory. */
  readonly #shift: number;
  #words: Int32Array | undefined;

  constructor(body: Buffer) {
    this.#body = body;
    this.#shift = body.byteOffset & 3;
  }

  /** Offset of the first byte from `start` on that is not plain, or the body's length. */
  end(start: number): number {
    const body = this.#body;
    const near = Math.min(start + SHORT_RUN_BYTES, body.length);
    let at = start;
    while (at < near && stops[body[at] as number] === 0) at++;
    return at < near || at === body.length ? at : this.#farEnd(at);
  }

  #farEnd(start: number): number {
    const body = this.#body;
    const words = (this.#words ??= this.#wordView());
    const shift = this.#shift;
    let at = start;
    while (((at + shift) & 3) !== 0) {
      if (at >= body.length || stops[body[at] as number] !== 0) return at;
      at++;
    }
    let index = (at + shift) >> 2;
    while (index < words.length && isPlainWord(words[index] as number)) index++;
    at = (index << 2) - shift;
    while (at < body.length && stops[body[at] as number] === 0) at++;
    return at;
  }

  #wordView(): Int32Array {
    const { buffer, byteOffset, length } = this.#body;
    return new Int32Array(buffer, byteOffset - this.#shift, (length + this.#shift) >> 2);
  }
}

/**
 * True when none of four bytes is a stop. Flipping 0x02 makes the quote 0x20, so that "below 0x21"
 * finds it together with the control characters; the other half finds the backslash.
 */
function isPlainWord(word: number): boolean {
  const flipped = word ^ 0x02_02_02_02;
  const backslashZero = word ^ 0x5c_5c_5c_5c;
  const low = (flipped - 0x21_21_21_21) & ~flipped;
  const zero = (backslashZero - 0x01_01_01_01) & ~backslashZero;
  return ((low | zero) & 0x80_80_80_80) === 0;
}
