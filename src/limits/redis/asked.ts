import type { Deadline } from "../../core/deadlines.ts";

/** A question to Redis that somebody waits for: told once, the answer or that there is none. */
export class Asked<T> implements Deadline {
  dueMs: number;
  watchedAt = -1;
  /** The caller was told that there is no answer; one that comes now comes too late. */
  isLate = false;
  #isDue = false;
  readonly #resolve: (answer: T) => void;
  readonly #onLate: () => T;

  /** `onLate` gives what the caller is told instead of an answer. */
  constructor(dueMs: number, resolve: (answer: T) => void, onLate: () => T) {
    this.dueMs = dueMs;
    this.#resolve = resolve;
    this.#onLate = onLate;
  }

  /** Tells the caller, unless it has been told. */
  answer(answer: T): void {
    if (!this.isLate) this.#resolve(answer);
  }

  onDue(nowMs: number): void {
    // After a pause of this process the answer may be here, unread: it is read before the next look.
    if (!this.#isDue) {
      this.#isDue = true;
      this.dueMs = nowMs;
      return;
    }
    this.answer(this.#onLate());
    this.isLate = true;
  }
}
