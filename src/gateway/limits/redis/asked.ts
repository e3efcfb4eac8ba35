import type { Deadline } from "../../../kernel/index.ts";

/**
 * A question to Redis that a caller waits for: settled once, with the answer or that there is none.
 */
export class Asked<T> implements Deadline {
  dueMs: number;
  watchedAt = -1;
  /** The caller got no answer; one that comes now comes too late. */
  isLate = false;
  #isDue = false;
  readonly #resolve: (answer: T) => void;
  readonly #onLate: () => T;

  /** `onLate` gives what the caller gets instead of an answer. */
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
    // After a pause of this process the answer may be here, unread: it is read before the next
    // check.
    if (!this.#isDue) {
      this.#isDue = true;
      this.dueMs = nowMs;
      return;
    }
    this.answer(this.#onLate());
    this.isLate = true;
  }
}
