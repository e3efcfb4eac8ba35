import { ExpiringCache } from "../../kernel/index.ts";

interface FailedRequest {
  readonly deploymentId: string;
  readonly orgId: string;
  readonly digest: string;
}

const REPEAT_MS = 60_000;
/** Above this number the oldest are forgotten; their repeats then count as strikes again. */
const REMEMBERED_MAX = 10_000;

/**
 * Recognizes repeats of a failed request for one minute. Clients resend what a provider cannot
 * process, so only failures of at least three different requests (organization and body) open a
 * closed circuit.
 */
export class RepeatedFailures {
  readonly #counted = new ExpiringCache<true>(REPEAT_MS, REMEMBERED_MAX);

  get size(): number {
    return this.#counted.size;
  }

  /** True if the request was counted within the last minute; otherwise counts it now. */
  isRepeat({ deploymentId, orgId, digest }: FailedRequest, nowMs: number): boolean {
    const name = `${deploymentId} ${orgId} ${digest}`;
    if (this.#counted.get(name, nowMs) === true) return true;
    this.#counted.set(name, true, nowMs);
    return false;
  }
}
