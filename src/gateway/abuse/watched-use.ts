import { assert } from "../../kernel/index.ts";
import { WindowUse, type CountedRequest } from "./window-use.ts";

/** What is watched of each of them, and of how many at once. */
export interface WatchedBounds {
  readonly windowMs: number;
  readonly clientsMax: number;
  readonly entriesMax: number;
}

/**
 * The use of all organizations with requests in the window. Those who were silent for so long are
 * forgotten, and of too many those who were silent longest.
 */
export class WatchedUse {
  readonly #bounds: WatchedBounds;
  /** In the order of their newest requests. */
  readonly #uses = new Map<string, WindowUse>();

  constructor(bounds: WatchedBounds) {
    assert(bounds.entriesMax > 0, "at least one use can be monitored");
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#uses.size;
  }

  /** Counts one request and answers with everything that is known of `key`. */
  note(key: string, request: CountedRequest, nowMs: number): WindowUse {
    const { windowMs, clientsMax } = this.#bounds;
    const use = this.#uses.get(key) ?? new WindowUse(windowMs, clientsMax);
    this.#uses.delete(key);
    this.#dropSilent(nowMs);
    this.#uses.set(key, use);
    use.note(request, nowMs);
    return use;
  }

  /** What `key` did until now counts no more. */
  forget(key: string): void {
    this.#uses.delete(key);
  }

  #dropSilent(nowMs: number): void {
    const { windowMs, entriesMax } = this.#bounds;
    for (const [key, use] of this.#uses) {
      if (this.#uses.size < entriesMax && nowMs - use.lastMs < windowMs) return;
      this.#uses.delete(key);
    }
  }
}
