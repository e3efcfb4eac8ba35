import { assert, unreachable } from "../core/assert.ts";
import {
  concurrentRequestsMax,
  consoleKeyRequestsPerMinute,
  managedKeyRequestsPerMinute,
  orgRequestsPerMinute,
  tokensPerMinute,
  trialKeyRequestsPerMinute,
  unfundedRequestsPerMinute,
} from "../core/constants.ts";
import type { KeyId, OrgId } from "../core/ids.ts";
import type { ScopeClaim } from "./limit-store.ts";

type Origin = "trial" | "console" | "identity" | "playground" | "optimize";

/** What the limits of a request depend on; a principal has this shape. */
export interface LimitedKey {
  readonly orgId: OrgId;
  readonly keyId: KeyId;
  readonly keyOrigin: Origin;
  readonly requestsPerMinuteCeiling: number;
  /** Set by the customer; it can only lower the ceiling. */
  readonly requestsPerMinute?: number;
  /** Has the organization ever held bought or granted credit? */
  readonly funded: boolean;
}

/** The limits an installation gives to everybody; the specification's unless configured. */
export interface LimitDefaults {
  readonly orgRequestsPerMinute: number;
  readonly unfundedRequestsPerMinute: number;
  /** Replaces every key's own ceiling when above 0. */
  readonly keyRequestsPerMinute: number;
  readonly tokensPerMinute: number;
  readonly concurrentRequests: number;
}

export const SPECIFIED_LIMITS: LimitDefaults = {
  orgRequestsPerMinute,
  unfundedRequestsPerMinute,
  keyRequestsPerMinute: 0,
  tokensPerMinute,
  concurrentRequests: concurrentRequestsMax,
};

/**
 * Returns who tells the scopes that a request of a key must be admitted by, narrowest first. They
 * depend on the (immutable) record only, and are remembered for as long as the record itself lives.
 */
export function limitScopes(
  defaults: LimitDefaults = SPECIFIED_LIMITS,
): (key: LimitedKey) => readonly ScopeClaim[] {
  const scopesByKey = new WeakMap<LimitedKey, readonly ScopeClaim[]>();
  return (key) => {
    const known = scopesByKey.get(key);
    if (known !== undefined) return known;
    const scopes = [keyScope(key, defaults), orgScope(key, defaults)];
    scopesByKey.set(key, scopes);
    return scopes;
  };
}

/** The ceiling in requests per minute of a new key. */
export function requestsPerMinuteCeilingOf(origin: Origin): number {
  switch (origin) {
    case "trial":
      return trialKeyRequestsPerMinute;
    case "console":
    case "identity":
      return consoleKeyRequestsPerMinute;
    case "playground":
    case "optimize":
      return managedKeyRequestsPerMinute;
    default:
      return unreachable(origin);
  }
}

/** Requests per minute that the key runs at now. */
export function keyRequestsPerMinute(
  key: LimitedKey,
  defaults: LimitDefaults = SPECIFIED_LIMITS,
): number {
  const ceiling = defaults.keyRequestsPerMinute || key.requestsPerMinuteCeiling;
  const own = Math.min(ceiling, key.requestsPerMinute ?? ceiling);
  assert(own > 0, "a key may make at least one request a minute");
  if (key.funded || isExempt(key)) return own;
  return Math.min(own, defaults.unfundedRequestsPerMinute);
}

function keyScope(key: LimitedKey, defaults: LimitDefaults): ScopeClaim {
  return {
    scope: "key",
    id: `key:${key.keyId}`,
    limits: {
      requestsPerMinute: keyRequestsPerMinute(key, defaults),
      tokensPerMinute: defaults.tokensPerMinute,
      concurrent: defaults.concurrentRequests,
    },
    countsRequests: true,
  };
}

/* An exempt request does not use up the twenty of an organization without credit either. */
function orgScope(key: LimitedKey, defaults: LimitDefaults): ScopeClaim {
  return {
    scope: "org",
    id: `org:${key.orgId}`,
    limits: {
      requestsPerMinute: key.funded
        ? defaults.orgRequestsPerMinute
        : defaults.unfundedRequestsPerMinute,
      tokensPerMinute: defaults.tokensPerMinute,
      concurrent: defaults.concurrentRequests,
    },
    countsRequests: key.funded || !isExempt(key),
  };
}

/** The managed Playground key is exempt from the rule for organizations without credit. */
function isExempt(key: LimitedKey): boolean {
  return key.keyOrigin === "playground";
}
