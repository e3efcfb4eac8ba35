import type { CallFamily } from "../../formats/index.ts";
import type { KeyId, ProviderId } from "../../kernel/index.ts";
import type { EndpointLimits, LimitValues, StoredLimit } from "../limits/limit-ceilings.ts";

/** The capacity of a private manifest, reserved for one organization. */
export interface DedicatedEndpoint {
  readonly endpointId: string;
  readonly providerId: ProviderId;
  readonly limits: EndpointLimits;
}

export interface RoutingPolicy {
  /**
   * Routing deadline in milliseconds; has an effect only if it is shorter than the installation's.
   */
  readonly timeoutMs?: number;
  /**
   * Defaults of the request's `provider.only` and `provider.ignore`; a request that sends its own
   * replaces them.
   */
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
  /**
   * Wall-clock end of state `limited`. Absent for `restricted`, which stays until an operator lifts
   * it.
   */
  readonly untilMs?: number;
}

export interface AccountRules {
  readonly limits: readonly StoredLimit[];
  readonly endpoints: readonly DedicatedEndpoint[];
  /**
   * The connections that this key may use, at most one per provider: the key's own, else the
   * organization's.
   */
  readonly connections: readonly Connection[];
  readonly policy?: RoutingPolicy;
  readonly abuseRestrictions: readonly AbuseRestriction[];
  /**
   * True if the organization has never bought credit. Only calls of such organizations are checked
   * for unusual use.
   */
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
