import {
  type OrgId,
  type Result,
  SETTINGS_REQUESTS_PER_MINUTE,
  shownKeyId,
} from "../../kernel/index.ts";
import { orgSlot, type ScopeClaim, tokenCount } from "../limits/limit-store.ts";
import { claimScopes } from "./admit.ts";
import type { ClaimedScopes } from "./claimed-scopes.ts";
import type { ClientExchange } from "./client-exchange.ts";
import type { CallPorts } from "./ports.ts";

const NO_TOKENS = tokenCount(0, 0);

/** What a counted request leaves of the minute, for the headers of its answer. */
export interface Counted {
  readonly remainingRequests: number;
}

/**
 * Counts one request of a free route: it uses up one request of the minute and nothing else, so
 * that running calls and spent tokens do not stand in its way.
 */
export async function countRequest(
  ports: CallPorts,
  client: ClientExchange,
): Promise<Result<Counted>> {
  return await countIn(ports, client, requestsOnly(ports.scopesOf(client.principal)));
}

/**
 * Counts one change of a setting. It has a window of its own: in one that it sets itself, a key
 * that lowered its limit could not raise it again before the minute is over.
 */
export async function countSetting(
  ports: CallPorts,
  client: ClientExchange,
): Promise<Result<Counted>> {
  const { principal } = client;
  const id = `settings:${principal.keyId}`;
  const shownId = `settings:${shownKeyId(principal)}`;
  const limits = { requestsPerMinute: SETTINGS_REQUESTS_PER_MINUTE };
  return await countIn(ports, client, [{ scope: "key", id, shownId, limits }]);
}

/**
 * Claims one change of a setting by a person of this organization; released when it was made,
 * undone when it was refused.
 */
export async function claimOrgSetting(
  ports: Pick<CallPorts, "limits" | "clock">,
  orgId: OrgId,
): Promise<Result<{ readonly claimed: ClaimedScopes }>> {
  const limits = { requestsPerMinute: SETTINGS_REQUESTS_PER_MINUTE };
  const scopes: readonly ScopeClaim[] = [{ scope: "org", id: `settings:${orgId}`, limits }];
  return await claimIn(ports, { orgId }, scopes);
}

async function countIn(
  ports: CallPorts,
  { principal }: ClientExchange,
  scopes: readonly ScopeClaim[],
): Promise<Result<Counted>> {
  const outcome = await claimIn(ports, principal, scopes);
  if (!outcome.ok) return outcome;
  const { claimed } = outcome;
  claimed.release(NO_TOKENS, ports.clock.monotonicMs());
  return { ok: true, remainingRequests: claimed.remainingRequests };
}

async function claimIn(
  ports: Pick<CallPorts, "limits" | "clock">,
  principal: { readonly orgId: OrgId },
  scopes: readonly ScopeClaim[],
): Promise<Result<{ readonly claimed: ClaimedScopes }>> {
  return await claimScopes(ports.limits, {
    principal,
    parts: [{ slot: orgSlot(principal.orgId), scopes }],
    tokens: NO_TOKENS,
    nowMs: ports.clock.nowMs(),
    monotonicMs: ports.clock.monotonicMs(),
  });
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
