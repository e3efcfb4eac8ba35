import { setImmediate } from "node:timers/promises";

import { assert } from "./assert.ts";

/**
 * The two clocks of the program, passed in through the door so that a test or the simulation can
 * replace them. `Date.now` and `performance.now` are called in this file only.
 */
export interface Clock {
  /** Wall clock, milliseconds since 1970. Display, ids and windows; never for time-outs. */
  nowMs(): number;
  /** Monotonic clock, milliseconds. Time-outs and durations. */
  monotonicMs(): number;
}

/** A day that the calendar has, `2026-02-28`: `Date.parse` takes a 30th of February for 2 March. */
export function isDay(text: string): boolean {
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN;
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
}

/** The day so many days earlier, `2026-02-28`; empty when `day` is none. */
export function daysBefore(day: string, days: number): string {
  const atMs = Date.parse(`${day}T00:00:00Z`) - days * 86_400_000;
  return Number.isNaN(atMs) ? "" : new Date(atMs).toISOString().slice(0, 10);
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

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
    // Iterates over a copy, because a cut deadline removes itself.
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

/** After so long other requests are served first. */
const TURN_MS = 10;
/** Items between two readings of the clock. */
const CHECKED_EVERY = 16;

/**
 * Maps many items in several turns of the event loop, so that other requests are not delayed.
 * Mapping a single item must be fast.
 */
export async function mapInTurns<T, R>(
  items: readonly T[],
  make: (item: T) => R,
): Promise<readonly R[]> {
  const made: R[] = [];
  let endMs = systemClock.monotonicMs() + TURN_MS;
  for (const [index, item] of items.entries()) {
    made.push(make(item));
    if (index % CHECKED_EVERY !== 0 || systemClock.monotonicMs() < endMs) continue;
    await setImmediate();
    endMs = systemClock.monotonicMs() + TURN_MS;
  }
  return made;
}

/** The JSON texts of a list as bytes with commas between them, in pieces of at least 64 KiB. */
export async function listPieces<T>(
  items: readonly T[],
  textOf: (item: T) => string,
  frame: { readonly before: string; readonly after: string },
): Promise<readonly Buffer[]> {
  const pieces: Buffer[] = [];
  let text = frame.before;
  let isFirst = true;
  await mapInTurns(items, (item) => {
    text += `${isFirst ? "" : ","}${textOf(item)}`;
    isFirst = false;
    if (text.length < PIECE_CHARS) return;
    pieces.push(Buffer.from(text));
    text = "";
  });
  pieces.push(Buffer.from(text + frame.after));
  return pieces;
}

const PIECE_CHARS = 65_536;

/**
 * Repeats work in every process, a fixed time after the previous round has ended. If only one
 * process may do a piece of it, the store decides which, by a lease, a turn or a lock. Never keeps
 * the process alive.
 */
export class Job {
  readonly #everyMs: number;
  readonly #work: (isStopping: () => boolean) => Promise<unknown>;
  readonly #failed: (fault: unknown) => void;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #isStopping = false;

  /** A round that fails, as it does while the database is away, is told to `failed`. */
  constructor(
    everyMs: number,
    work: (isStopping: () => boolean) => Promise<unknown>,
    failed: (fault: unknown) => void,
  ) {
    this.#everyMs = everyMs;
    this.#work = work;
    this.#failed = failed;
  }

  /** True as soon as it is being closed: long work asks between two pieces. */
  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** The first round is a pause later. */
  start(): void {
    if (this.#isStopping) return;
    this.#timer = setTimeout(() => this.startNow(), this.#everyMs);
    this.#timer.unref();
  }

  /** The first round is at once. */
  startNow(): void {
    this.#running = this.runOnce().finally(() => this.start());
  }

  /** Runs a round in addition to those of the timer. Never rejects. */
  async runOnce(): Promise<void> {
    try {
      await this.#work(() => this.#isStopping);
    } catch (fault) {
      this.#failed(fault);
    }
  }

  /** Resolves when the round of the timer has ended; there is none after it. */
  async close(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    await this.#running;
  }
}

/**
 * Works on each, one after the other. One that fails does not keep the others waiting; so many in a
 * row, or a stop, end it: what they need is down, and the next round begins with what is left.
 * False: it was ended.
 */
export async function workOnEach<T>(
  items: AsyncIterable<T> | Iterable<T>,
  work: (item: T) => Promise<void>,
  bounds: {
    readonly failuresMax: number;
    readonly isStopping: () => boolean;
    readonly failed: (fault: unknown, item: T) => void;
  },
): Promise<boolean> {
  const { failuresMax, isStopping, failed } = bounds;
  let inARow = 0;
  if (isStopping()) return false;
  for await (const item of items) {
    try {
      await work(item);
      inARow = 0;
    } catch (fault) {
      inARow += 1;
      failed(fault, item);
    }
    if (isStopping() || inARow >= failuresMax) return false;
  }
  return true;
}

/* `Date.parse` alone is too lenient: it accepts "-1" as a day in 2001. */
const ISO_INSTANT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;

/** Milliseconds since 1970 of Unix seconds, or of an ISO date or instant. */
export function parseMoment(text: string): number | undefined {
  const ms = /^\d{1,11}$/.test(text)
    ? Number(text) * 1000
    : Date.parse(ISO_INSTANT.test(text) ? text : "");
  return Number.isFinite(ms) ? ms : undefined;
}
