/** The identity of a request that failed at a deployment. */
export interface FailedRequest {
  readonly deploymentId: string;
  readonly orgId: string;
  /** Digest of its body. */
  readonly digest: string;
}

const REPEAT_MS = 60_000;
/**
 * Beyond this number the oldest are dropped; their repeats count again and open a circuit sooner.
 */
const REMEMBERED_MAX = 10_000;

/**
 * Recognizes a repeated failed request for a minute. Clients repeat a request that its provider
 * cannot handle, so all repetitions count as one strike: a circuit opens only after failures of two
 * organizations or of three different requests.
 */
export class RepeatedFailures {
  /** The time at which each was counted, oldest first. */
  readonly #countedMs: Map<string, number> = new Map();

  get size(): number {
    return this.#countedMs.size;
  }

  /** True if it was counted within the last minute; otherwise counts it now. */
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
