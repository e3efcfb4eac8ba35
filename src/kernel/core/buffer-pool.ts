import { assert } from "./assert.ts";
import { POOL_BYTES_MAX, POOLED_BYTES_MAX, POOLED_BYTES_MIN } from "./constants.ts";

/**
 * Lends reusable buffers of 1 KiB to 4 MiB. Allocating memory outside the heap triggers garbage
 * collection, so reusing buffers makes collections rarer. Lent and idle memory together stay within
 * `bytesMax`. If a length does not fit, `lend` returns undefined and the caller allocates.
 */
export class BufferPool {
  readonly #bytesMax: number;
  /** Idle buffers by size class: class n has buffers of 2 ** n bytes. */
  readonly #idle: Buffer[][] = [];
  #idleBytes = 0;
  #lentBytes = 0;

  constructor(bytesMax: number = POOL_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  get idleBytes(): number {
    return this.#idleBytes;
  }

  get lentBytes(): number {
    return this.#lentBytes;
  }

  /** Lends `length` bytes; undefined if that is out of bounds or would exceed `bytesMax`. */
  lend(length: number): LentBuffer | undefined {
    if (length < POOLED_BYTES_MIN || length > POOLED_BYTES_MAX) return undefined;
    const sizeClass = 32 - Math.clz32(length - 1);
    const memory = this.#takeIdle(sizeClass) ?? this.#allocate(2 ** sizeClass);
    if (memory === undefined) return undefined;
    this.#lentBytes += memory.length;
    return new LentBuffer(this, memory, length);
  }

  /** A `LentBuffer` calls this when its loan ends. `memory` is undefined after `leave`. */
  ended(bytes: number, memory: Buffer | undefined): void {
    this.#lentBytes -= bytes;
    assert(this.#lentBytes >= 0, "no loan ends twice");
    if (memory === undefined) return;
    this.#idleBytes += bytes;
    (this.#idle[32 - Math.clz32(bytes - 1)] ??= []).push(memory);
  }

  /** Takes the buffer returned last, which is most likely still in the processor's cache. */
  #takeIdle(sizeClass: number): Buffer | undefined {
    const memory = this.#idle[sizeClass]?.pop();
    if (memory !== undefined) this.#idleBytes -= memory.length;
    return memory;
  }

  #allocate(bytes: number): Buffer | undefined {
    if (this.#lentBytes + bytes > this.#bytesMax) return undefined;
    for (const idle of this.#idle.toReversed()) {
      while (this.#lentBytes + this.#idleBytes + bytes > this.#bytesMax) {
        const dropped = idle?.pop();
        if (dropped === undefined) break;
        this.#idleBytes -= dropped.length;
      }
    }
    return Buffer.allocUnsafeSlow(bytes);
  }
}

/** A buffer on loan from a `BufferPool`. Its borrower must call `giveBack` or `leave`, once. */
export class LentBuffer {
  /** As many bytes as requested. They may still contain what an earlier borrower wrote. */
  readonly bytes: Buffer;
  readonly #pool: BufferPool;
  #memory: Buffer | undefined;

  constructor(pool: BufferPool, memory: Buffer, length: number) {
    this.#pool = pool;
    this.#memory = memory;
    this.bytes = memory.subarray(0, length);
  }

  /** Returns the memory to the pool, which lends it again. Nothing may read `bytes` after this. */
  giveBack(): void {
    const memory = this.#end();
    this.#pool.ended(memory.length, memory);
  }

  /** Gives the memory to the garbage collector; use it if something may still read `bytes`. */
  leave(): void {
    this.#pool.ended(this.#end().length, undefined);
  }

  #end(): Buffer {
    const memory = this.#memory;
    assert(memory !== undefined, "a loan ends once");
    this.#memory = undefined;
    return memory;
  }
}

/**
 * Keeps bytes without joining them. Large chunks are kept as they are. Small ones are copied into
 * shared pages, because a chunk of one byte in a buffer of its own would occupy more than 200
 * bytes. The first chunk is kept as it is, because it is often the only one.
 */
export class HeldBytes {
  length = 0;
  readonly #pieces: Buffer[] = [];
  #page: Buffer = EMPTY;
  /** `#page` is filled from `#from` to `#to` with bytes that are not in `#pieces` yet. */
  #from = 0;
  #to = 0;

  add(bytes: Buffer): void {
    if (bytes.length === 0) return;
    const isFirst = this.length === 0;
    this.length += bytes.length;
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
    return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces, this.length);
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
