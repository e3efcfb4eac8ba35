import type { DedicatedEndpoint } from "../accounts/account-rules.ts";
import type { Principal } from "../accounts/principal.ts";
import type { Result } from "../../kernel/index.ts";
import { departedScopes } from "../limits/departed-scopes.ts";
import { endpointScope, endpointSelfScopes } from "../limits/effective-limits.ts";
import { orgSlot, type ScopeClaim } from "../limits/limit-store.ts";
import type { OwnKeys } from "../routing/plan-route.ts";
import { claimScopes, type ClaimPart } from "./admit.ts";
import type { CallTokens } from "./call-kind.ts";
import type { ClaimedScopes } from "./claimed-scopes.ts";
import type { CallPorts } from "./ports.ts";

/** What decides which limits a request has to be admitted by. */
export interface LimitedCall {
  readonly modelId: string;
  readonly endpoint: DedicatedEndpoint | undefined;
  /** What of it the caller's own provider keys serve. */
  readonly ownKeys: OwnKeys;
}

/** Claims what a call is admitted by before a candidate is chosen: all of it, or one refusal. */
export function claimLimits(
  ports: Pick<CallPorts, "limits" | "scopesOf" | "platform" | "drains" | "clock">,
  principal: Principal,
  { limited, tokens }: { readonly limited: LimitedCall; readonly tokens: CallTokens },
): Promise<Result<{ readonly claimed: ClaimedScopes }>> {
  return claimScopes(ports.limits, {
    principal,
    parts: claimParts(ports, principal, limited),
    tokens,
    nowMs: ports.clock.nowMs(),
    monotonicMs: ports.clock.monotonicMs(),
    endsAtMs: (orgId, id, count) => ports.drains.endsAtMs(orgId, id, count),
  });
}

/**
 * The limits of a call before any provider is chosen: the caller's own, or those of its dedicated
 * endpoint in their place; then the platform's.
 */
export function claimParts(
  ports: Pick<CallPorts, "scopesOf" | "platform">,
  principal: Principal,
  call: LimitedCall,
): readonly ClaimPart[] {
  const { endpoint, modelId, ownKeys } = call;
  const ownKeysOnly = ownKeys !== "none";
  const parts: ClaimPart[] = [];
  const slot = orgSlot(principal.orgId);
  if (endpoint === undefined) {
    parts.push(partOf(slot, ports.scopesOf(principal, { modelId, ownKeysOnly }), modelId));
  } else {
    const scopes = endpointSelfScopes(principal, modelId);
    if (scopes.length > 0) parts.push(partOf(slot, scopes, modelId));
    const ofEndpoint = `{endpoint:${endpoint.endpointId}}`;
    parts.push(partOf(ofEndpoint, scopesOfEndpoint(endpoint), modelId));
  }
  if (ports.platform.length > 0) parts.push({ slot: "{platform}", scopes: ports.platform });
  return parts;
}

/** Its scopes and, where they limit what is in flight, those of its calls whose client left. */
export function partOf(
  slot: string,
  scopes: readonly ScopeClaim[],
  modelId: string | undefined,
): ClaimPart {
  const departed = departedScopes({ slot, scopes }, modelId);
  return departed.length === 0 ? { slot, scopes } : { slot, scopes, departed };
}

const endpointScopes = new WeakMap<DedicatedEndpoint, readonly ScopeClaim[]>();

/* The same array every time: a shared store remembers what it made of it. */
function scopesOfEndpoint(endpoint: DedicatedEndpoint): readonly ScopeClaim[] {
  const known = endpointScopes.get(endpoint);
  if (known !== undefined) return known;
  const scopes = [endpointScope(endpoint)];
  endpointScopes.set(endpoint, scopes);
  return scopes;
}
