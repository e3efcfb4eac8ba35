import { setTimeout as sleep } from "node:timers/promises";
import type { Faults } from "./faults.ts";
import { serialOf } from "./serial.ts";

/** A call in the order in which the simulator received them. */
export interface Arrival {
  /** Of all calls that are answered by a host, from 1. */
  readonly number: number;
  /** Is it the first that asks for an answer of a model? */
  readonly isFirst: boolean;
}

const JITTER_DIGITS = 8;

/** Numbers calls and makes answers begin late: a host of many machines, a model that is loaded. */
export class StartDelay {
  readonly #seed: string;
  #calls = 0;
  #hasGenerated = false;

  constructor(seed: string) {
    this.#seed = seed;
  }

  arrive(isGeneration: boolean): Arrival {
    this.#calls += 1;
    const isFirst = isGeneration && !this.#hasGenerated;
    this.#hasGenerated ||= isGeneration;
    return { number: this.#calls, isFirst };
  }

  /** How long the answer to this call waits before it begins. */
  waitMs({ number, isFirst }: Arrival, { jitter = 0, slow_start: slowStart = 0 }: Faults): number {
    const jitterMs = jitter === 0 ? 0 : Math.floor(this.#share(number) * (jitter + 1));
    return jitterMs + (isFirst ? slowStart : 0);
  }

  /** Waits so long; rejects when the client has left before. */
  async wait(arrival: Arrival, faults: Faults, gone: AbortSignal): Promise<void> {
    const ms = this.waitMs(arrival, faults);
    if (ms > 0) await sleep(ms, undefined, { signal: gone });
  }

  /* From 0 to 1, 1 excluded: the same for the same seed and number. */
  #share(number: number): number {
    const digits = serialOf(`${this.#seed}:jitter`, number).slice(0, JITTER_DIGITS);
    return Number.parseInt(digits, 16) / 16 ** JITTER_DIGITS;
  }
}
