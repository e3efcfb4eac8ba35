import { assert } from "./assert.ts";
import { POOL_BYTES_MAX, POOLED_BYTES_MAX, POOLED_BYTES_MIN } from "./constants.ts";

/** A buffer on loan. It ends by one of the two calls, once. */
export interface LentBuffer {
  /** As many bytes as were asked for; what an earlier borrower wrote may still be in them. */
  readonly bytes: Buffer;
  /** No one can read the bytes any more: the memory is lent again. */
  giveBack(): void;
  /** Something may still read the bytes: the memory is left to the garbage collector. */
  leave(): void;
}

/**
 * Buffers of some kilobytes to some megabytes that are used again. Memory outside the heap is what
 * makes the engine collect: with one copy of a body less for each request, it collects less often.
 * All of them together are bounded, lent ones too; what does not fit is not lent, and its borrower
 * allocates.
 */
export class BufferPool {
  readonly #bytesMax: number;
  /** Idle memory by class; the sizes of the classes are powers of two. */
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

  /** Undefined if the length is none that is lent, or everything is on loan. */
  lend(length: number): LentBuffer | undefined {
    if (length < POOLED_BYTES_MIN || length > POOLED_BYTES_MAX) return undefined;
    const sizeClass = 32 - Math.clz32(length - 1);
    const memory = this.#takeIdle(sizeClass) ?? this.#allocate(2 ** sizeClass);
    if (memory === undefined) return undefined;
    this.#lentBytes += memory.length;
    return new Loan(this, memory, length);
  }

  /** Takes back a loan when it ends. `memory` is undefined when it does not come back. */
  ended(bytes: number, memory: Buffer | undefined): void {
    this.#lentBytes -= bytes;
    assert(this.#lentBytes >= 0, "no loan ends twice");
    if (memory === undefined) return;
    this.#idleBytes += bytes;
    (this.#idle[32 - Math.clz32(bytes - 1)] ??= []).push(memory);
  }

  /**
   * Takes the most recently returned buffer, as it is the most likely to be in the processor's
   * cache.
   */
  #takeIdle(sizeClass: number): Buffer | undefined {
    const memory = this.#idle[sizeClass]?.pop();
    if (memory !== undefined) this.#idleBytes -= memory.length;
    return memory;
  }

  /** New memory, for which idle memory of other classes may have to go. */
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

class Loan implements LentBuffer {
  readonly bytes: Buffer;
  readonly #pool: BufferPool;
  #memory: Buffer | undefined;

  constructor(pool: BufferPool, memory: Buffer, length: number) {
    this.#pool = pool;
    this.#memory = memory;
    this.bytes = memory.subarray(0, length);
  }

  giveBack(): void {
    const memory = this.#end();
    this.#pool.ended(memory.length, memory);
  }

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
