import { claimScopes } from "./admit.ts";
import type { ClaimedScopes } from "./claimed-scopes.ts";
import { settingsRequestsPerMinute } from "../core/constants.ts";
import type { KeyId, OrgId } from "../core/ids.ts";
import { shownKeyId } from "../core/managed-keys.ts";
import type { Refusal } from "../core/refusals.ts";
import { orgSlot, tokenCount, type ScopeClaim } from "../limits/limit-store.ts";
import { isRefusal } from "./call-kind.ts";
import type { ClientExchange } from "./client-exchange.ts";
import type { CallPorts } from "./ports.ts";

const NO_TOKENS = tokenCount(0, 0);

/**
 * Counts one request of a free route: it uses up one request of the minute and nothing else, so
 * that running calls and spent tokens do not stand in its way.
 */
export async function countRequest(
  deps: CallPorts,
  exchange: ClientExchange,
): Promise<ClaimedScopes | Refusal> {
  return await countIn(deps, exchange, requestsOnly(deps.scopesOf(exchange.principal)));
}

/**
 * Counts one change of a setting. It has a window of its own: in one that it sets itself, a key
 * that lowered its limit could not raise it again before the minute is over.
 */
export async function countSetting(
  deps: CallPorts,
  exchange: ClientExchange,
): Promise<ClaimedScopes | Refusal> {
  const { principal } = exchange;
  const id = `settings:${principal.keyId}`;
  const shownId = `settings:${shownKeyId(principal)}`;
  const limits = { requestsPerMinute: settingsRequestsPerMinute };
  return await countIn(deps, exchange, [{ scope: "key", id, shownId, limits }]);
}

/**
 * Claims one change of a setting by a person of this organization; released when it was made,
 * undone when it was refused.
 */
export async function claimOrgSetting(
  deps: Pick<CallPorts, "limits" | "clock">,
  orgId: OrgId,
): Promise<ClaimedScopes | Refusal> {
  const limits = { requestsPerMinute: settingsRequestsPerMinute };
  const scopes: readonly ScopeClaim[] = [{ scope: "org", id: `settings:${orgId}`, limits }];
  return await claimIn(deps, { orgId, keyId: NO_KEY }, scopes);
}

const NO_KEY = "" as KeyId;

async function countIn(
  deps: CallPorts,
  { principal }: ClientExchange,
  scopes: readonly ScopeClaim[],
): Promise<ClaimedScopes | Refusal> {
  const claimed = await claimIn(deps, principal, scopes);
  if (!isRefusal(claimed)) claimed.release(NO_TOKENS, deps.clock.monotonicMs());
  return claimed;
}

async function claimIn(
  deps: Pick<CallPorts, "limits" | "clock">,
  principal: { readonly orgId: OrgId; readonly keyId: KeyId },
  scopes: readonly ScopeClaim[],
): Promise<ClaimedScopes | Refusal> {
  const outcome = await claimScopes(deps.limits, {
    principal,
    parts: [{ slot: orgSlot(principal.orgId), scopes }],
    tokens: NO_TOKENS,
    nowMs: deps.clock.nowMs(),
    monotonicMs: deps.clock.monotonicMs(),
  });
  return outcome.kind === "refused" ? outcome.refusal : outcome.claimed;
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
