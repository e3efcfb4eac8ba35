import type { DedicatedEndpoint, Principal } from "../accounts/index.ts";
import type { Result } from "../core/index.ts";
import {
  endpointScope,
  endpointSelfScopes,
  orgSlot,
  type ScopeClaim,
  type TokenCount,
} from "../limits/index.ts";
import type { OwnKeys } from "../routing/index.ts";
import { claimScopes, type ClaimPart } from "./admit.ts";
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
  { limited, tokens }: { readonly limited: LimitedCall; readonly tokens: TokenCount },
): Promise<Result<{ readonly claimed: ClaimedScopes }>> {
  return claimScopes(ports.limits, {
    principal,
    parts: claimParts(ports, principal, limited),
    tokens,
    nowMs: ports.clock.nowMs(),
    monotonicMs: ports.clock.monotonicMs(),
    departed: (orgId, id) => ports.drains.departed(orgId, id),
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
    parts.push({ slot, scopes: ports.scopesOf(principal, { modelId, ownKeysOnly }) });
  } else {
    const scopes = endpointSelfScopes(principal, modelId);
    if (scopes.length > 0) parts.push({ slot, scopes });
    parts.push({ slot: `{endpoint:${endpoint.endpointId}}`, scopes: scopesOfEndpoint(endpoint) });
  }
  if (ports.platform.length > 0) parts.push({ slot: "{platform}", scopes: ports.platform });
  return parts;
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
