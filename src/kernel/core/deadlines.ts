import { assert } from "./assert.ts";
import type { Clock } from "./time.ts";

/** One watched piece of work. `dueMs` may be moved at any time; Infinity means not now. */
export interface Deadline {
  /** Monotonic milliseconds at which `onDue` is called once; it may set a new `dueMs`. */
  dueMs: number;
  /** Its place among the watched, kept by `Deadlines`; -1 while it is not watched. */
  watchedAt: number;
  onDue(nowMs: number): void;
  /** Ends the work now: the program is shutting down. */
  cut?(): void;
}

const TICK_MS = 50;

/**
 * One coarse timer for every running request: a request adds itself and removes itself, and pays
 * no timer of its own. Due work is noticed at most one tick late, never early.
 *
 * The watched stand in a dense array, each knowing its place. Not in a Set: the tables that a busy
 * Set leaves behind keep each other, and the requests in them, alive until a full collection.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #watched: Deadline[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#watched.length;
  }

  watch(deadline: Deadline): void {
    assert(deadline.watchedAt === -1, "a deadline is watched once at a time");
    deadline.watchedAt = this.#watched.push(deadline) - 1;
    if (this.#timer === undefined) {
      this.#timer = setInterval(() => this.#sweep(), TICK_MS);
      this.#timer.unref();
    }
  }

  /** Does nothing when it is not watched. */
  unwatch(deadline: Deadline): void {
    const at = deadline.watchedAt;
    if (at === -1) return;
    deadline.watchedAt = -1;
    const last = this.#watched.pop();
    if (last === undefined || last === deadline) return;
    this.#watched[at] = last;
    last.watchedAt = at;
  }

  /** Ends all watched work that can be ended. */
  cutAll(): void {
    // A copy: what is cut unwatches itself.
    for (const deadline of this.#watched.slice()) deadline.cut?.();
  }

  #sweep(): void {
    if (this.#watched.length === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    const nowMs = this.#clock.monotonicMs();
    const due = this.#watched.filter((deadline) => deadline.dueMs <= nowMs);
    for (const deadline of due) {
      // An earlier one of this sweep may have ended it.
      if (deadline.watchedAt === -1 || deadline.dueMs > nowMs) continue;
      deadline.dueMs = Number.POSITIVE_INFINITY;
      deadline.onDue(nowMs);
    }
  }
}
