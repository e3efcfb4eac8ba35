/**
 * Bytes that are kept as they came, without being put together: large pieces are held where they
 * are, small ones are gathered in pages, so that an answer in tiny pieces costs no more memory.
 */
export class HeldBytes {
  readonly #pieces: Buffer[] = [];
  #page: Buffer = EMPTY;
  /** The part of the page that is filled and not yet a piece. */
  #from = 0;
  #to = 0;

  add(bytes: Buffer): void {
    if (bytes.length >= LARGE_BYTES) {
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

  /** Everything that was added, in order. */
  pieces(): readonly Buffer[] {
    this.#closePiece();
    return this.#pieces;
  }

  #turnPage(): void {
    this.#closePiece();
    this.#page = Buffer.allocUnsafeSlow(PAGE_BYTES);
    this.#from = 0;
    this.#to = 0;
  }

  #closePiece(): void {
    if (this.#to > this.#from) this.#pieces.push(this.#page.subarray(this.#from, this.#to));
    this.#from = this.#to;
  }
}

const EMPTY = Buffer.alloc(0);
/** From here on a piece is worth an object of its own. */
const LARGE_BYTES = 4_096;
const PAGE_BYTES = 65_536;
