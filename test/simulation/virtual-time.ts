import type { Clock } from "../../src/kernel/core/time.ts";
import { installTimers, type TimerHost } from "./fake-timers.ts";

/** A party whose events can be delayed or stopped for good: a gateway process, the database. */
export interface Actor {
  readonly name: string;
  /** True once none of its events may run. */
  isDead: boolean;
  /** None of its events run before this virtual time; then all overdue ones run in order. */
  pausedUntilMs: number;
}

/** A future event, unless it is cancelled or its actor is dead by then. */
export interface Happening {
  readonly actor: Actor;
  readonly label: string;
  readonly run: () => void;
  atMs: number;
  readonly order: number;
  isCancelled: boolean;
}

interface StepWatcher {
  /** Called right before an event; may kill or pause the actor. */
  beforeStep(happening: Happening): void;
  /** Called when an event and all its microtasks are over. */
  afterStep(happening: Happening): void;
}

/**
 * One queue of events for the whole simulation. The time is that of the event that runs. Once it
 * and all microtasks that it started are over, the next one runs. No real time is waited for.
 */
export class VirtualTime implements TimerHost {
  nowMs = 0;
  steps = 0;
  /** The actor whose event runs now; undefined between events. */
  current: Actor | undefined;
  readonly #heap: Happening[] = [];
  #order = 0;
  readonly #watcher: StepWatcher;

  constructor(watcher: StepWatcher) {
    this.#watcher = watcher;
  }

  schedule(actor: Actor, delayMs: number, label: string, run: () => void): Happening {
    const order = this.#order++;
    const atMs = this.nowMs + Math.max(0, delayMs);
    const happening: Happening = { actor, label, run, atMs, order, isCancelled: false };
    this.#push(happening);
    return happening;
  }

  /** Runs event after event until `isOver` returns true or no event is left. */
  async run(isOver: () => boolean): Promise<void> {
    const restore = installTimers(this);
    try {
      while (!isOver()) {
        const next = this.#pop();
        if (next === undefined) return;
        if (next.isCancelled || next.actor.isDead || this.#isPutOff(next)) continue;
        this.nowMs = Math.max(this.nowMs, next.atMs);
        this.#watcher.beforeStep(next);
        if (!next.actor.isDead && !this.#isPutOff(next)) await this.#step(next);
      }
    } finally {
      restore();
    }
  }

  #isPutOff(happening: Happening): boolean {
    const { pausedUntilMs } = happening.actor;
    if (pausedUntilMs <= happening.atMs) return false;
    happening.atMs = pausedUntilMs;
    this.#push(happening);
    return true;
  }

  async #step(happening: Happening): Promise<void> {
    this.steps += 1;
    this.current = happening.actor;
    try {
      happening.run();
      await microtasksOver();
    } finally {
      this.current = undefined;
    }
    this.#watcher.afterStep(happening);
  }

  #push(happening: Happening): void {
    const heap = this.#heap;
    let at = heap.push(happening) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || isBefore(above, happening)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = happening;
  }

  #pop(): Happening | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || first === last) return first;
    let at = 0;
    for (;;) {
      const left = heap[2 * at + 1];
      const right = heap[2 * at + 2];
      if (left === undefined) break;
      const goesRight = right !== undefined && isBefore(right, left);
      const child = goesRight ? right : left;
      if (isBefore(last, child)) break;
      heap[at] = child;
      at = 2 * at + (goesRight ? 2 : 1);
    }
    heap[at] = last;
    return first;
  }
}

/** The two clocks of one machine. Each may be wrong in its own way. */
export class SkewedClock implements Clock {
  readonly #time: { readonly nowMs: number };
  readonly #startMs: number;
  /** Milliseconds by which the wall clock is ahead of virtual time. */
  wallOffsetMs = 0;
  /** Milliseconds for which the machine was paused without its monotonic clock noticing. */
  frozenMs = 0;

  constructor(time: { readonly nowMs: number }, startMs: number) {
    this.#time = time;
    this.#startMs = startMs;
  }

  nowMs(): number {
    return Math.floor(this.#startMs + this.#time.nowMs + this.wallOffsetMs);
  }

  monotonicMs(): number {
    return this.#time.nowMs - this.frozenMs;
  }
}

function isBefore(one: Happening, other: Happening): boolean {
  return one.atMs === other.atMs ? one.order < other.order : one.atMs < other.atMs;
}

/** Resolves once no microtask is left, because a microtask's `nextTick` callback runs only then. */
function microtasksOver(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
