import { claimLimits } from "../admission/admit.ts";
import type { Refusal } from "../core/refusals.ts";
import { tokenCount, type LimitLease } from "../limits/limit-store.ts";
import type { ClientExchange } from "./client-exchange.ts";
import type { ServeDeps } from "./serve-deps.ts";

const NO_TOKENS = tokenCount(0, 0);

/**
 * Counts one request of a free route: it uses up one request of the minute and nothing else, so
 * that running calls and spent tokens do not stand in its way.
 */
export async function countRequest(
  deps: ServeDeps,
  exchange: ClientExchange,
): Promise<LimitLease | Refusal> {
  const { principal } = exchange;
  const claimed = await claimLimits(deps.limits, {
    scopes: deps.scopesOf(principal).map((scope) => {
      const { requestsPerMinute } = scope.limits;
      return { ...scope, limits: requestsPerMinute === undefined ? {} : { requestsPerMinute } };
    }),
    tokens: NO_TOKENS,
    reserve: principal,
    nowMs: deps.clock.nowMs(),
    monotonicMs: deps.clock.monotonicMs(),
  });
  if (claimed.kind === "refused") return claimed.refusal;
  deps.limits.release(claimed.lease, NO_TOKENS, deps.clock.monotonicMs());
  return claimed.lease;
}
