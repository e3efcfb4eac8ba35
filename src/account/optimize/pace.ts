import { setTimeout as sleep } from "node:timers/promises";

import type { Clock } from "../../kernel/index.ts";

const GAP_MS_MAX = 6_000;
const GAP_FACTOR = 3;

/** When the next call may leave: one after another with a gap, and none during a pause. */
export class Pace {
  readonly #clock: Clock;
  #gapMs: number;
  #nextMs = Number.NEGATIVE_INFINITY;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, gapMs: number) {
    this.#clock = clock;
    this.#gapMs = gapMs;
  }

  /** Resolves when it is this call's turn, at once when `signal` is aborted. */
  async turn(signal: AbortSignal): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    const atMs = Math.max(nowMs, this.#nextMs, this.#pausedUntilMs);
    this.#nextMs = atMs + this.#gapMs;
    await waited(atMs - nowMs, signal);
    // Another call may have been delayed meanwhile: that holds for all.
    for (;;) {
      const cooldownMs = this.#pausedUntilMs - this.#clock.monotonicMs();
      if (cooldownMs <= 0 || signal.aborted) return;
      await waited(cooldownMs, signal);
    }
  }

  /** No call leaves before `waitMs` have passed, and then more slowly than so far. */
  slowDown(waitMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#clock.monotonicMs() + waitMs);
    this.#gapMs = Math.min(Math.max(this.#gapMs, 1) * GAP_FACTOR, GAP_MS_MAX);
  }
}

async function waited(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0) return;
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
