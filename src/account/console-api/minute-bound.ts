const MINUTE_MS = 60_000;

/**
 * Limits requests without a session per minute: those of one network, and those of all networks
 * that reach this process.
 */
export class MinuteBound {
  #sinceMs = Number.NEGATIVE_INFINITY;
  #all = 0;
  readonly #of = new Map<string, number>();
  readonly #max: { readonly ofNetwork: number; readonly ofAll: number };

  constructor(max: { readonly ofNetwork: number; readonly ofAll: number }) {
    this.#max = max;
  }

  mayRun(network: string, nowMs: number): boolean {
    if (nowMs - this.#sinceMs >= MINUTE_MS) {
      this.#sinceMs = nowMs;
      this.#all = 0;
      this.#of.clear();
    }
    const count = this.#of.get(network) ?? 0;
    // A refused request does not count, so that one network cannot use up the limit of all.
    if (count >= this.#max.ofNetwork || this.#all >= this.#max.ofAll) return false;
    this.#of.set(network, count + 1);
    this.#all += 1;
    return true;
  }

  /** Takes one request off the count, for a request that turned out to be legitimate. */
  release(network: string): void {
    const count = this.#of.get(network) ?? 0;
    if (count === 0) return;
    this.#of.set(network, count - 1);
    this.#all -= 1;
  }
}
