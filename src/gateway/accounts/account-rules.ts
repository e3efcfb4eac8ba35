import type { CallFamily } from "../../formats/index.ts";
import type { KeyId, ProviderId } from "../../kernel/index.ts";
import type { EndpointLimits, LimitValues, StoredLimit } from "../limits/limit-ceilings.ts";

/** A provider with a private manifest, whose capacity is reserved for one organization. */
export interface DedicatedEndpoint {
  readonly endpointId: string;
  readonly providerId: ProviderId;
  readonly limits: EndpointLimits;
}

export interface RoutingPolicy {
  /** Routing deadline in milliseconds; applies only if it is below the installation's deadline. */
  readonly timeoutMs?: number;
  /** Defaults, which a request's own `provider.only` or `provider.ignore` replaces. */
  readonly only?: readonly string[];
  readonly ignore?: readonly string[];
  /** If set, providers that retain prompts are never used. */
  readonly promptLogging?: "none";
}

/** A stored provider key that belongs to the customer. */
export interface Connection {
  readonly connectionId: string;
  readonly providerId: ProviderId;
  /** Absent if every key of the organization may use the connection. */
  readonly keyId?: KeyId;
  readonly sealedKey: Buffer;
}

/** An absent limit stays as it is. Null removes it, so that the default applies again. */
export type LimitChange = { readonly [N in keyof LimitValues]?: number | null };

export interface AbuseRestriction {
  readonly family: CallFamily;
  readonly state: "limited" | "restricted";
  /** Wall-clock end of `limited`. Absent for `restricted`, which an operator lifts. */
  readonly untilMs?: number;
}

export interface AccountRules {
  readonly limits: readonly StoredLimit[];
  readonly endpoints: readonly DedicatedEndpoint[];
  /** At most one per provider: the connection of the key itself, else that of the organization. */
  readonly connections: readonly Connection[];
  readonly policy?: RoutingPolicy;
  readonly abuseRestrictions: readonly AbuseRestriction[];
  /** True if the organization never bought credit; only then is it checked for unusual use. */
  readonly isTrial: boolean;
  readonly keysMaySetOrgLimits: boolean;
}

export const PLAIN_RULES: AccountRules = Object.freeze({
  limits: [],
  endpoints: [],
  connections: [],
  abuseRestrictions: [],
  isTrial: false,
  keysMaySetOrgLimits: false,
});
