export interface FailedRequest {
  readonly deploymentId: string;
  readonly orgId: string;
  readonly digest: string;
}

const REPEAT_MS = 60_000;
/**
 * The most remembered failures. Above this number the oldest are forgotten; their repeats then
 * count as strikes again.
 */
const REMEMBERED_MAX = 10_000;

/**
 * Recognizes repeats of a failed request for one minute. Clients resend a request that its provider
 * cannot process, so repeats do not count as strikes: only failures of at least three different
 * requests (organization and body) open a closed circuit.
 */
export class RepeatedFailures {
  readonly #countedMs: Map<string, number> = new Map();

  get size(): number {
    return this.#countedMs.size;
  }

  /** True if the request was counted within the last minute; otherwise counts it now. */
  isRepeat({ deploymentId, orgId, digest }: FailedRequest, nowMs: number): boolean {
    const name = `${deploymentId} ${orgId} ${digest}`;
    const countedMs = this.#countedMs.get(name);
    if (countedMs !== undefined && nowMs - countedMs < REPEAT_MS) return true;
    this.#countedMs.delete(name);
    this.#countedMs.set(name, nowMs);
    this.#forget(nowMs);
    return false;
  }

  #forget(nowMs: number): void {
    for (const [name, countedMs] of this.#countedMs) {
      const isOld = nowMs - countedMs >= REPEAT_MS;
      if (!isOld && this.#countedMs.size <= REMEMBERED_MAX) return;
      this.#countedMs.delete(name);
    }
  }
}
