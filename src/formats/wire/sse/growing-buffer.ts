const FIRST_BYTES = 256;

/** Bytes that arrive in pieces, kept in one block that doubles: a slow drip stays linear. */
export class GrowingBuffer {
  #block: Buffer = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(bytes: Buffer): void {
    const length = this.#length + bytes.length;
    if (length > this.#block.length) this.#grow(length);
    bytes.copy(this.#block, this.#length);
    this.#length = length;
  }

  addByte(byte: number): void {
    if (this.#length === this.#block.length) this.#grow(this.#length + 1);
    this.#block[this.#length++] = byte;
  }

  /** Hands the bytes over and starts again; the block is the taker's from here on. */
  take(): Buffer {
    const bytes = this.#block.subarray(0, this.#length);
    this.#block = Buffer.alloc(0);
    this.#length = 0;
    return bytes;
  }

  #grow(bytes: number): void {
    const block = Buffer.allocUnsafe(Math.max(FIRST_BYTES, bytes, this.#block.length * 2));
    this.#block.copy(block, 0, 0, this.#length);
    this.#block = block;
  }
}
