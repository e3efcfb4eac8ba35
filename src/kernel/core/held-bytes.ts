/**
 * Keeps bytes without joining them. Large pieces are kept as they are. Small ones are copied into
 * pages, so that bytes in tiny pieces need no more memory than in large pieces: a piece of one byte
 * would occupy more than 200. The first piece is kept as it is, because it is often the only one.
 */
export class HeldBytes {
  readonly #pieces: Buffer[] = [];
  #length = 0;
  #page: Buffer = EMPTY;
  /** `#page` is filled from `#from` to `#to` with bytes that are not in `#pieces` yet. */
  #from = 0;
  #to = 0;

  get length(): number {
    return this.#length;
  }

  add(bytes: Buffer): void {
    if (bytes.length === 0) return;
    const isFirst = this.#length === 0;
    this.#length += bytes.length;
    if (isFirst || bytes.length >= LARGE_BYTES) {
      this.#closePiece();
      this.#pieces.push(bytes);
      return;
    }
    for (let taken = 0; taken < bytes.length;) {
      if (this.#to === this.#page.length) this.#turnPage();
      const copied = bytes.copy(this.#page, this.#to, taken);
      this.#to += copied;
      taken += copied;
    }
  }

  pieces(): readonly Buffer[] {
    this.#closePiece();
    return this.#pieces;
  }

  joined(): Buffer {
    const pieces = this.pieces();
    const [only] = pieces;
    return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces, this.#length);
  }

  #turnPage(): void {
    this.#closePiece();
    const isFirst = this.#page.length === 0;
    this.#page = Buffer.allocUnsafeSlow(isFirst ? LARGE_BYTES : PAGE_BYTES);
    this.#from = 0;
    this.#to = 0;
  }

  #closePiece(): void {
    if (this.#to > this.#from) this.#pieces.push(this.#page.subarray(this.#from, this.#to));
    this.#from = this.#to;
  }
}

const EMPTY = Buffer.alloc(0);
const LARGE_BYTES = 4_096;
const PAGE_BYTES = 65_536;
