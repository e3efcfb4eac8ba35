import { claimScopes } from "../admission/admit.ts";
import type { ClaimedScopes } from "../admission/claimed-scopes.ts";
import type { Refusal } from "../core/refusals.ts";
import { orgSlot, tokenCount, type ScopeClaim } from "../limits/limit-store.ts";
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
): Promise<ClaimedScopes | Refusal> {
  const { principal } = exchange;
  const outcome = await claimScopes(deps.limits, {
    principal,
    parts: [{ slot: orgSlot(principal.orgId), scopes: requestsOnly(deps.scopesOf(principal)) }],
    tokens: NO_TOKENS,
    nowMs: deps.clock.nowMs(),
    monotonicMs: deps.clock.monotonicMs(),
  });
  if (outcome.kind === "refused") return outcome.refusal;
  outcome.claimed.release(NO_TOKENS, deps.clock.monotonicMs());
  return outcome.claimed;
}

const requestScopes = new WeakMap<readonly ScopeClaim[], readonly ScopeClaim[]>();

/* The same array every time: a shared store remembers what it made of it. */
function requestsOnly(scopes: readonly ScopeClaim[]): readonly ScopeClaim[] {
  const known = requestScopes.get(scopes);
  if (known !== undefined) return known;
  const made = scopes.map((scope) => {
    const { requestsPerMinute } = scope.limits;
    return { ...scope, limits: requestsPerMinute === undefined ? {} : { requestsPerMinute } };
  });
  requestScopes.set(scopes, made);
  return made;
}
