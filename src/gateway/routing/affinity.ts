import type { ListedModel } from "../../catalog/index.ts";
import { ExpiringCache } from "../../kernel/index.ts";

/** About as long as providers keep a prompt in their caches. */
const SERVED_MS = 300_000;
/** Above that the oldest are forgotten: their next request pays for a cold cache, and nothing else. */
const CONVERSATIONS_MAX = 20_000;

/**
 * Which deployment served a conversation last, in this process: among equals it is tried first, so
 * that a conversation that had to move does not leave a second cache cold by moving back.
 */
export class Affinity {
  readonly #served = new ExpiringCache<string>(SERVED_MS, CONVERSATIONS_MAX);

  /** The id of the deployment. Times are monotonic. */
  servedLast(conversation: string, nowMs: number): string | undefined {
    return this.#served.get(conversation, nowMs);
  }

  note(conversation: string, deploymentId: string, nowMs: number): void {
    this.#served.set(conversation, deploymentId, nowMs);
  }
}

/** Whether any two deployments, which are in routing order, have the same priority. */
export function hasEquals({ deployments }: ListedModel): boolean {
  for (let at = 1; at < deployments.length; at += 1) {
    if (deployments[at]?.priority === deployments[at - 1]?.priority) return true;
  }
  return false;
}
