/** A request that failed at a deployment, by what makes it the same one again. */
export interface FailedRequest {
  readonly deploymentId: string;
  readonly orgId: string;
  /** Digest of its body. */
  readonly digest: string;
}

const REPEAT_MS = 60_000;
/** Above that the oldest are forgotten: their repeats count again, which opens a circuit sooner. */
const REMEMBERED_MAX = 10_000;

/**
 * Knows a failed request again for a minute. One request that its provider cannot bear comes
 * several times, since clients repeat it: those are one strike, so that a circuit opens only after
 * failures of at least two organizations or of three different requests.
 */
export class RepeatedFailures {
  /** When each was counted, oldest first. */
  readonly #countedMs: Map<string, number> = new Map();

  get size(): number {
    return this.#countedMs.size;
  }

  /** True when it was counted within the last minute; else it is counted now. */
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
