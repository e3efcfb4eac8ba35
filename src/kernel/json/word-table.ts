/**
 * Recognises a fixed set of names in raw bytes without making strings. Word ids are 1, 2, … in the
 * order of the list; 0 means that the bytes are none of them.
 */
export class WordTable {
  readonly size: number;
  readonly #names: readonly string[];
  readonly #bytes: readonly Buffer[];
  readonly #slots = new Int32Array(SLOTS);

  constructor(names: readonly string[]) {
    this.#names = names;
    this.#bytes = names.map((name) => Buffer.from(name));
    this.size = names.length;
    for (const [index, bytes] of this.#bytes.entries()) {
      let slot = hashOf(bytes, 0, bytes.length);
      while (this.#slots[slot] !== 0) slot = (slot + 1) & (SLOTS - 1);
      this.#slots[slot] = index + 1;
    }
  }

  /** The id of the word in `body` from `start` to `end`. */
  find(body: Uint8Array, start: number, end: number): number {
    if (start === end) return 0;
    let slot = hashOf(body, start, end);
    for (;;) {
      const id = this.#slots[slot] ?? 0;
      if (id === 0 || this.#equals(id, body, start, end)) return id;
      slot = (slot + 1) & (SLOTS - 1);
    }
  }

  /** The id of `text`. */
  idOf(text: string): number {
    const bytes = Buffer.from(text);
    return this.find(bytes, 0, bytes.length);
  }

  /** The name of a word id; undefined for 0. */
  nameOf(id: number): string | undefined {
    return this.#names[id - 1];
  }

  #equals(id: number, body: Uint8Array, start: number, end: number): boolean {
    const word = this.#bytes[id - 1];
    if (word === undefined || word.length !== end - start) return false;
    for (let i = 0; i < word.length; i++) if (word[i] !== body[start + i]) return false;
    return true;
  }
}

/** A power of two, several times the number of entries, so that lookups stay short. */
const SLOTS = 2048;

/** Length and three bytes distinguish field names well enough; the remainder is compared. */
function hashOf(body: Uint8Array, start: number, end: number): number {
  const length = end - start;
  const first = body[start] ?? 0;
  const middle = body[start + (length >> 1)] ?? 0;
  const last = body[end - 1] ?? 0;
  return (length * 89 + first * 7 + middle * 131 + last * 31) & (SLOTS - 1);
}
