import type { KeyId } from "../../kernel/index.ts";

/** A whole answer that its client has not taken yet. */
export interface UnreadAnswer {
  readonly keyId: KeyId;
  readonly bytes: number;
  /** Ends its connection. */
  destroy(): void;
}

/** How many bytes of whole answers may wait for their clients. */
export interface UnreadBounds {
  readonly unreadBytesMax: number;
  readonly unreadBytesMaxPerKey: number;
}

/**
 * Bounds the memory that clients take up who do not read their answers. Above it the connection is
 * destroyed that has waited longest without a byte; what its answer cost was settled before.
 */
export class UnreadAnswers {
  readonly #bounds: UnreadBounds;
  /** Whose last byte was taken first comes first. */
  readonly #waiting = new Set<UnreadAnswer>();
  readonly #bytesOf = new Map<KeyId, number>();
  #bytes = 0;

  constructor(bounds: UnreadBounds) {
    this.#bounds = bounds;
  }

  /** The answer itself may be larger than the bounds: then it waits alone. */
  add(answer: UnreadAnswer): void {
    this.#waiting.add(answer);
    this.#count(answer, answer.bytes);
    const { unreadBytesMax, unreadBytesMaxPerKey } = this.#bounds;
    const { keyId } = answer;
    const isOfKey = (each: UnreadAnswer): boolean => each.keyId === keyId;
    const isKeyOver = (): boolean => (this.#bytesOf.get(keyId) ?? 0) > unreadBytesMaxPerKey;
    while (isKeyOver() && this.#destroyFirst(isOfKey, answer));
    while (this.#bytes > unreadBytesMax && this.#destroyFirst(() => true, answer));
  }

  /** Its client took bytes of it. */
  moved(answer: UnreadAnswer): void {
    if (this.#waiting.delete(answer)) this.#waiting.add(answer);
  }

  /** Does nothing when it does not wait. */
  remove(answer: UnreadAnswer): void {
    if (this.#waiting.delete(answer)) this.#count(answer, -answer.bytes);
  }

  #destroyFirst(isMeant: (answer: UnreadAnswer) => boolean, newest: UnreadAnswer): boolean {
    for (const answer of this.#waiting) {
      if (answer === newest || !isMeant(answer)) continue;
      this.remove(answer);
      answer.destroy();
      return true;
    }
    return false;
  }

  #count({ keyId }: UnreadAnswer, bytes: number): void {
    this.#bytes += bytes;
    const ofKey = (this.#bytesOf.get(keyId) ?? 0) + bytes;
    if (ofKey === 0) this.#bytesOf.delete(keyId);
    else this.#bytesOf.set(keyId, ofKey);
  }
}
