import type { ClaimPart } from "./admit.ts";
import type { DedicatedEndpoint } from "../accounts/account-rules.ts";
import type { Principal } from "../accounts/principal.ts";
import { endpointScope, endpointSelfScopes } from "../limits/effective-limits.ts";
import { orgSlot, type ScopeClaim } from "../limits/limit-store.ts";
import type { OwnKeys } from "../routing/plan-route.ts";
import type { ServeDeps } from "./serve-deps.ts";

/** What decides which limits a request has to be admitted by. */
export interface ClaimedCall {
  readonly modelId: string;
  readonly endpoint: DedicatedEndpoint | undefined;
  /** What of it the caller's own provider keys serve. */
  readonly ownKeys: OwnKeys;
}

/**
 * The limits of a call before any provider is chosen: the caller's own, or those of its dedicated
 * endpoint in their place; then the platform's.
 */
export function claimParts(
  deps: Pick<ServeDeps, "scopesOf" | "platform">,
  principal: Principal,
  call: ClaimedCall,
): readonly ClaimPart[] {
  const { endpoint, modelId, ownKeys } = call;
  const ownKeysOnly = ownKeys !== "none";
  const parts: ClaimPart[] = [];
  const slot = orgSlot(principal.orgId);
  if (endpoint === undefined) {
    parts.push({ slot, scopes: deps.scopesOf(principal, { modelId, ownKeysOnly }) });
  } else {
    const scopes = endpointSelfScopes(principal, modelId);
    if (scopes.length > 0) parts.push({ slot, scopes });
    parts.push({ slot: `{endpoint:${endpoint.endpointId}}`, scopes: scopesOfEndpoint(endpoint) });
  }
  if (deps.platform.length > 0) parts.push({ slot: "{platform}", scopes: deps.platform });
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
