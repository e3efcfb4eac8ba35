import { setImmediate } from "node:timers/promises";

import { assert } from "./assert.ts";

/** The clocks, passed as a value that tests can replace. Only this file calls `Date.now`. */
export interface Clock {
  /** Wall clock, in milliseconds since 1970. For display, ids and windows, never for timeouts. */
  nowMs(): number;
  /** Monotonic clock, for timeouts and durations. */
  monotonicMs(): number;
}

/** True for a date that exists. `Date.parse` would read 2026-02-30 as 2 March. */
export function isDay(text: string): boolean {
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN;
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
}

/** Returns a date such as `2026-02-28`, `days` days before `day`; "" if `day` is not a date. */
export function daysBefore(day: string, days: number): string {
  const atMs = Date.parse(`${day}T00:00:00Z`) - days * 86_400_000;
  return Number.isNaN(atMs) ? "" : new Date(atMs).toISOString().slice(0, 10);
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/** Work with a deadline. `dueMs` may be changed at any time; Infinity means never. */
export interface Deadline {
  /** The monotonic time, in ms, at which `onDue` is called, once. `onDue` may set a new `dueMs`. */
  dueMs: number;
  /** Set by `Deadlines`: the index in its array, or -1 while the deadline is not watched. */
  watchedAt: number;
  onDue(nowMs: number): void;
  /** Ends the work at once, because the program shuts down. */
  onCut?(): void;
}

const TICK_MS = 50;

/**
 * One coarse timer for all watched work, instead of one timer each. `onDue` is called up to one
 * tick (50 ms) late, or later if the event loop is blocked, but never early.
 *
 * Watched work is in a dense array, and each entry knows its index in it. A Set would keep ended
 * requests in memory: the old tables of a busy Set reference each other until a full garbage
 * collection.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #watched: Deadline[] = [];
  #timer: NodeJS.Timeout | undefined;
  #hasCut = false;

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
    if (this.#hasCut) deadline.onCut?.();
  }

  unwatch(deadline: Deadline): void {
    const at = deadline.watchedAt;
    if (at === -1) return;
    deadline.watchedAt = -1;
    const last = this.#watched.pop();
    if (last === undefined || last === deadline) return;
    this.#watched[at] = last;
    last.watchedAt = at;
  }

  /** Cuts all work that is watched, and from now on any other as soon as it is watched. */
  cutAll(): void {
    this.#hasCut = true;
    // Iterates over a copy, because work that is cut removes itself from the array.
    for (const deadline of this.#watched.slice()) deadline.onCut?.();
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
      // An earlier `onDue` of this sweep may have unwatched or postponed this one.
      if (deadline.watchedAt === -1 || deadline.dueMs > nowMs) continue;
      deadline.dueMs = Number.POSITIVE_INFINITY;
      deadline.onDue(nowMs);
    }
  }
}

const TURN_MS = 10;
const CHECKED_EVERY = 16;

/** Maps items in slices of about 10 ms; other work runs between slices. `make` must be fast. */
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

/** Writes a list as JSON within `frame`, in buffers of about 64 KiB; other work runs in between. */
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
 * Repeats work in this process: each run begins a fixed time after the previous one ended. If only
 * one process may do the work, choose that process through the store. The timer keeps no process
 * alive.
 */
export class Job {
  readonly #everyMs: number;
  readonly #work: (isStopping: () => boolean) => Promise<unknown>;
  readonly #failed: (fault: unknown) => void;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #isStopping = false;

  /** `failed` is called if a run throws, for example while the database is down. */
  constructor(
    everyMs: number,
    work: (isStopping: () => boolean) => Promise<unknown>,
    failed: (fault: unknown) => void,
  ) {
    this.#everyMs = everyMs;
    this.#work = work;
    this.#failed = failed;
  }

  /** True after `close` was called. Long work checks this between two items. */
  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** Starts the regular runs. The first begins after `everyMs`. */
  start(): void {
    if (this.#isStopping) return;
    this.#timer = setTimeout(() => this.startNow(), this.#everyMs);
    this.#timer.unref();
  }

  startNow(): void {
    this.#running = this.runOnce().finally(() => this.start());
  }

  /** Runs the work once, in addition to the regular runs. Never rejects. */
  async runOnce(): Promise<void> {
    try {
      await this.#work(() => this.#isStopping);
    } catch (fault) {
      this.#failed(fault);
    }
  }

  /** Stops the regular runs and awaits the one in progress, but no run that `runOnce` began. */
  async close(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    await this.#running;
  }
}

/**
 * Works on the items one after the other, and continues after an item that fails. Returns false if
 * it ends early: because the job is stopping, or after `failuresMax` failures in a row, since
 * something that all items need is then probably down.
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

/* Stricter than `Date.parse`, which accepts "-1" as a day in 2001. */
const ISO_INSTANT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;

/** Parses Unix seconds or ISO 8601 into milliseconds since 1970; undefined for anything else. */
export function parseMoment(text: string): number | undefined {
  const ms = /^\d{1,11}$/.test(text)
    ? Number(text) * 1000
    : Date.parse(ISO_INSTANT.test(text) ? text : "");
  return Number.isFinite(ms) ? ms : undefined;
}

const WITHOUT_ZONE = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?$/;

/**
 * Parses an instant that another service wrote, into milliseconds since 1970; NaN for other text.
 * An ISO 8601 text without a time zone is in UTC, whatever the time zone of this machine.
 */
export function parseForeignInstant(text: string): number {
  return Date.parse(WITHOUT_ZONE.test(text) ? `${text}Z` : text);
}
