import type { Deadline } from "../../../kernel/index.ts";

/**
 * A request to Redis that a caller waits for. It is settled once, with the answer or without one.
 */
export class Asked<T> implements Deadline {
  dueMs: number;
  watchedAt = -1;
  /** True once the caller has given up; a later answer is ignored. */
  isLate = false;
  #isDue = false;
  readonly #resolve: (answer: T) => void;
  readonly #onLate: () => T;

  /** `onLate` returns the caller's result if there is no answer. */
  constructor(dueMs: number, resolve: (answer: T) => void, onLate: () => T) {
    this.dueMs = dueMs;
    this.#resolve = resolve;
    this.#onLate = onLate;
  }

  /** Answers the caller, unless it was answered. */
  answer(answer: T): void {
    if (!this.isLate) this.#resolve(answer);
  }

  onDue(nowMs: number): void {
    // After a pause of this process the answer may have arrived unread, so it is read before the
    // next check.
    if (!this.#isDue) {
      this.#isDue = true;
      this.dueMs = nowMs;
      return;
    }
    this.answer(this.#onLate());
    this.isLate = true;
  }
}
