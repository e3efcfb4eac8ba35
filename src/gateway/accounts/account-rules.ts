import type { CallFamily } from "../../formats/index.ts";
import type { KeyId, ProviderId } from "../../kernel/index.ts";
import type { EndpointLimits, StoredLimit } from "../limits/limit-ceilings.ts";

/** The capacity of a private manifest, reserved for one organization. */
export interface DedicatedEndpoint {
  readonly endpointId: string;
  /** The provider id of the private manifest, which serves the models exclusively. */
  readonly providerId: ProviderId;
  readonly limits: EndpointLimits;
}

/** The routing policy of an organization, which its requests may override in part. */
export interface RoutingPolicy {
  /** Routing deadline in milliseconds, shorter than the installation's. */
  readonly timeoutMs?: number;
  /** Defaults of `provider.only` and `provider.ignore`: a request that sends its own replaces them. */
  readonly only?: readonly string[];
  readonly ignore?: readonly string[];
  /** If set, providers that retain prompts are never used. */
  readonly promptLogging?: "none";
}

/** A stored provider key that belongs to the customer. */
export interface Connection {
  readonly connectionId: string;
  readonly providerId: ProviderId;
  /** Absent if every key of the organization may use it. */
  readonly keyId?: KeyId;
  /** Encrypted; decrypted only to send it to the provider. */
  readonly sealedKey: Buffer;
}

/** The restriction of one kind of request after unusual use. */
export interface AbuseRestriction {
  readonly family: CallFamily;
  readonly state: "limited" | "restricted";
  /** Wall-clock end of `limited`; a restriction stays until an operator lifts it. */
  readonly untilMs?: number;
}

/** The settings of an organization that apply to a key; read together with the key. */
export interface AccountRules {
  readonly limits: readonly StoredLimit[];
  readonly endpoints: readonly DedicatedEndpoint[];
  /** The connections that this key may use; one of the key itself precedes one of the organization. */
  readonly connections: readonly Connection[];
  readonly policy?: RoutingPolicy;
  readonly abuseRestrictions: readonly AbuseRestriction[];
  /** True if the organization has never bought credit. Unusual use is only detected for these. */
  readonly isTrial: boolean;
  /** True if a virtual key may set limits of its organization. */
  readonly keysMaySetOrgLimits: boolean;
}

/** The rules of an organization with credit and without settings, as nearly all are. */
export const PLAIN_RULES: AccountRules = Object.freeze({
  limits: [],
  endpoints: [],
  connections: [],
  abuseRestrictions: [],
  isTrial: false,
  keysMaySetOrgLimits: false,
});
