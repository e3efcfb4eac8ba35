import type { Clock } from "../kernel/index.ts";

/** The difference between the clocks of two hosts changes by less than a millisecond in so many. */
const MS_PER_DRIFT_MS = 2_000;
/** A reading of the store's clock is cut to the millisecond. */
const READING_MS = 1;

/**
 * The store's clock as this process knows it, from answers that carried it. An answer says only
 * that the store read its clock between question and answer; several of them together narrow that
 * down, so that one slow answer does not put the clock back. It is never ahead of the store's.
 */
export class StoreClock {
  readonly #clock: Clock;
  /** What the store's clock is ahead of the monotonic one: at least, at most, known then. */
  #ahead: { readonly leastMs: number; readonly mostMs: number; readonly atMs: number };

  constructor(clock: Clock, first: StoreReading) {
    this.#clock = clock;
    this.#ahead = this.#saidBy(first);
  }

  /** Milliseconds since 1970. */
  nowMs(): number {
    return Math.floor(this.#clock.monotonicMs() + this.#ahead.leastMs);
  }

  /** Call it as soon as the answer is there. */
  observe(reading: StoreReading): void {
    const said = this.#saidBy(reading);
    const known = this.#ahead;
    const driftMs = (said.atMs - known.atMs) / MS_PER_DRIFT_MS;
    const leastMs = Math.max(said.leastMs, known.leastMs - driftMs);
    const mostMs = Math.min(said.mostMs, known.mostMs + driftMs);
    // Where both cannot be true, the store's clock was set: the last answer counts.
    this.#ahead = leastMs <= mostMs ? { leastMs, mostMs, atMs: said.atMs } : said;
  }

  #saidBy({ askedAtMs, storeNowMs }: StoreReading): {
    readonly leastMs: number;
    readonly mostMs: number;
    readonly atMs: number;
  } {
    const atMs = this.#clock.monotonicMs();
    return { leastMs: storeNowMs - atMs, mostMs: storeNowMs + READING_MS - askedAtMs, atMs };
  }
}

/** What the store's clock said, and when it was asked by the monotonic one. */
export interface StoreReading {
  readonly askedAtMs: number;
  readonly storeNowMs: number;
}
