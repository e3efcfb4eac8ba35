const MINUTE_MS = 60_000;
/** The bound for all networks together in this process: its CPU time is meant for calls. */
const ALL_MAX = 300;

/**
 * Bounds what strangers may have done in a minute: for one network, and for all together in this
 * process.
 */
export class MinuteBound {
  #sinceMs = Number.NEGATIVE_INFINITY;
  #all = 0;
  readonly #of = new Map<string, number>();
  readonly #perNetworkMax: number;

  constructor(perNetworkMax: number) {
    this.#perNetworkMax = perNetworkMax;
  }

  mayRun(network: string, nowMs: number): boolean {
    if (nowMs - this.#sinceMs >= MINUTE_MS) {
      this.#sinceMs = nowMs;
      this.#all = 0;
      this.#of.clear();
    }
    const count = this.#of.get(network) ?? 0;
    // A refused one counts for nobody: a stranger uses up no other's.
    if (count >= this.#perNetworkMax || this.#all >= ALL_MAX) return false;
    this.#of.set(network, count + 1);
    this.#all += 1;
    return true;
  }
}
