import type { KeyId } from "../../kernel/index.ts";

export interface LimitValues {
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
  readonly concurrent?: number;
}

/**
 * A limit that replaces or lowers a default of one organization.
 *
 * - `self`: set by the customer; it only ever lowers.
 * - `contract`: set by the operator; it replaces the default, and of a key the ceiling.
 */
export interface StoredLimit extends LimitValues {
  readonly source: "self" | "contract";
  /** `model` limits one model, in the whole organization or, with `keyId`, under one key. */
  readonly scope: "org" | "key" | "model";
  /** A contract of scope `key` without it holds for every key of the organization. */
  readonly keyId?: KeyId;
  readonly modelId?: string;
}

/** The identity of a stored limit, without its values. */
export type LimitTarget = Pick<StoredLimit, "source" | "scope" | "keyId" | "modelId">;

/** Limits of a dedicated endpoint; they stand in place of the defaults for its traffic. */
export interface EndpointLimits extends LimitValues {
  /** A hard limit (`rps`): one more request in the same second is refused. */
  readonly requestsPerSecond?: number;
  /** Requests leave at this even rate and wait for it, `waitMsMax` at most (`rps_queue`). */
  readonly paced?: { readonly perSecond: number; readonly waitMsMax: number };
}
/**
 * The limits an installation gives to every organization; the specification's unless configured.
 */
export interface LimitDefaults {
  readonly orgRequestsPerMinute: number;
  readonly unfundedRequestsPerMinute: number;
  /** Above 0, it replaces the ceiling of every key. */
  readonly keyRequestsPerMinute: number;
  readonly tokensPerMinute: number;
  readonly concurrentRequests: number;
}
