import { setTimeout as sleep } from "node:timers/promises";
import type { Faults } from "./faults.ts";
import { makeSerial } from "./call-log.ts";

const JITTER_DIGITS = 8;

/**
 * Delays the start of answers. `jitter` acts like a provider with many machines, `slow_start` like
 * a model that must be loaded first.
 */
export class StartDelay {
  readonly #seed: string;
  #calls = 0;
  #hasGenerated = false;

  constructor(seed: string) {
    this.#seed = seed;
  }

  /**
   * Counts a call that arrives, and returns a function that waits before the answer. The faults of
   * the call determine how long.
   */
  arrive(isGeneration: boolean): (faults: Faults, gone: AbortSignal) => Promise<void> {
    this.#calls += 1;
    const digits = makeSerial(`${this.#seed}:jitter`, this.#calls).slice(0, JITTER_DIGITS);
    const share = Number.parseInt(digits, 16) / 16 ** JITTER_DIGITS;
    const isFirst = isGeneration && !this.#hasGenerated;
    this.#hasGenerated ||= isGeneration;
    return async ({ jitter = 0, slow_start: slowStart = 0 }, gone) => {
      const ms = Math.floor(share * (jitter + 1)) + (isFirst ? slowStart : 0);
      if (ms > 0) await sleep(ms, undefined, { signal: gone });
    };
  }
}
