import type { DeclaredWindow } from "./limit-store.ts";

/** A charge counts while the second in which it was made is at most 60 seconds ago. */
export const WINDOW_SECONDS = 60;

const RING_SLOTS = 64;
const RING_MASK = RING_SLOTS - 1;

/**
 * Amounts charged in the last 60 seconds, in one-second buckets with a running total. A charge
 * leaves at the start of the 61st second after its own, so it counts for more than 60 and at most
 * 61 seconds: no rolling 60 seconds is ever under-counted. `advance` must never get a second that
 * is earlier than its last one. `LongWindow` uses longer buckets in place of seconds.
 */
export class RollingWindow {
  /** The sum of the window; correct only after `advance` to the present second. */
  total = 0;
  newestSecond = 0;
  readonly #ring = new Float64Array(RING_SLOTS);

  get newestAmount(): number {
    return this.#ring[this.newestSecond & RING_MASK] ?? 0;
  }

  advance(second: number): void {
    const steps = second - this.newestSecond;
    if (steps === 0) return;
    if (this.total !== 0 && steps > WINDOW_SECONDS) {
      this.#ring.fill(0);
      this.total = 0;
    } else if (this.total !== 0) {
      this.#step(second);
    }
    this.newestSecond = second;
  }

  add(amount: number): void {
    const slot = this.newestSecond & RING_MASK;
    this.#ring[slot] = (this.#ring[slot] ?? 0) + amount;
    this.total += amount;
  }

  /** Changes the charge of `second`, if it is still in the window; no bucket falls below zero. */
  correct(second: number, delta: number): void {
    if (delta === 0 || this.newestSecond - second > WINDOW_SECONDS) return;
    const slot = second & RING_MASK;
    const before = this.#ring[slot] ?? 0;
    const after = Math.max(0, before + delta);
    this.#ring[slot] = after;
    this.total += after - before;
  }

  /** Returns the seconds until charges of at least `amount`, or all charges, have left. */
  secondsUntilLeft(amount: number): number {
    let left = 0;
    for (let age = WINDOW_SECONDS; age > 0; age -= 1) {
      left += this.#ring[(this.newestSecond - age) & RING_MASK] ?? 0;
      if (left >= amount) return WINDOW_SECONDS + 1 - age;
    }
    return WINDOW_SECONDS + 1;
  }

  #step(second: number): void {
    for (let entering = this.newestSecond + 1; entering <= second; entering += 1) {
      const slot = (entering - WINDOW_SECONDS - 1) & RING_MASK;
      this.total -= this.#ring[slot] ?? 0;
      this.#ring[slot] = 0;
    }
  }
}

const STEP_BACK_MS_MAX = (WINDOW_SECONDS + 1) * 1000;

/**
 * Turns the caller's clock into seconds that never go backwards. After a small step back, such as
 * when two callers report their readings out of order, the second stays. A step back larger than
 * the window means that the clock was changed: time then continues from its last value instead of
 * standing still for hours.
 */
export class SteadySeconds {
  #latestMs = 0;
  #shiftMs = 0;

  get latestUs(): number {
    return Math.floor(this.#latestMs * 1000);
  }

  at(nowMs: number): number {
    const shifted = nowMs + this.#shiftMs;
    if (shifted >= this.#latestMs) this.#latestMs = shifted;
    else if (this.#latestMs - shifted > STEP_BACK_MS_MAX) this.#shiftMs = this.#latestMs - nowMs;
    return Math.floor(this.#latestMs / 1000);
  }
}

export function bucketSeconds(window: DeclaredWindow): number {
  return window.seconds / WINDOW_SECONDS;
}

/** A declared window, whose buckets may be longer than a second. */
class LongWindow {
  readonly ring: RollingWindow = new RollingWindow();
  /** Seconds of one bucket. */
  readonly length: number;

  constructor(window: DeclaredWindow) {
    this.length = bucketSeconds(window);
  }

  correct(chargedAt: number, delta: number): void {
    this.ring.correct(Math.floor(chargedAt / this.length), delta);
  }

  secondsUntilLeft(amount: number, second: number): number {
    return (this.ring.newestSecond + this.ring.secondsUntilLeft(amount)) * this.length - second;
  }

  advance(second: number): this {
    this.ring.advance(Math.floor(second / this.length));
    return this;
  }
}

export class DeclaredWindows {
  readonly #known: Map<string, LongWindow> = new Map();

  isEmpty(second: number): boolean {
    for (const each of this.#known.values()) {
      if (each.advance(second).ring.total !== 0) return false;
    }
    return true;
  }

  at(window: DeclaredWindow, second: number): LongWindow {
    const name = `${window.kind} ${window.seconds}`;
    let long = this.#known.get(name);
    if (long === undefined) {
      long = new LongWindow(window);
      this.#known.set(name, long);
    }
    return long.advance(second);
  }
}
