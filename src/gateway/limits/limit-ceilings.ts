import { type KeyId, defined } from "../../kernel/index.ts";

export interface LimitValues {
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
  readonly concurrent?: number;
}

/**
 * A limit that replaces or lowers a default for one organization.
 *
 * - `self`: set by the customer; can only lower the default, or the contract if there is one.
 * - `contract`: set by the operator; replaces the default or a key's ceiling, and may be higher.
 */
export interface StoredLimit extends LimitValues {
  readonly source: "self" | "contract";
  /** `model` limits one model, in the whole organization or, with `keyId`, under one key. */
  readonly scope: "org" | "key" | "model";
  /** Absent in a contract of scope `key` that applies to every key of the organization. */
  readonly keyId?: KeyId;
  readonly modelId?: string;
}

export type LimitTarget = Pick<StoredLimit, "source" | "scope" | "keyId" | "modelId">;

export interface EndpointLimits extends LimitValues {
  /** A hard limit (`rps`): one more request in the same second is refused. */
  readonly requestsPerSecond?: number;
  /** Requests are sent at this even rate, each after at most `waitMsMax` ms (`rps_queue`). */
  readonly paced?: { readonly perSecond: number; readonly waitMsMax: number };
}
export interface LimitDefaults {
  readonly orgRequestsPerMinute: number;
  readonly unfundedRequestsPerMinute: number;
  /** If above 0, replaces the ceiling on requests per minute of every key without a contract. */
  readonly keyRequestsPerMinute: number;
  readonly tokensPerMinute: number;
  readonly concurrentRequests: number;
}

export type LimitCeilings = Required<LimitValues>;

export interface CeilingKey {
  readonly keyId: KeyId;
  readonly requestsPerMinuteCeiling: number;
  readonly rules: { readonly limits: readonly StoredLimit[] };
}

/** Returns the ceilings of a key, or of one model under it. A contract replaces the defaults. */
export function keyCeilings(
  key: CeilingKey,
  modelId: string | undefined,
  defaults: LimitDefaults,
): LimitCeilings {
  const { keyId, requestsPerMinuteCeiling, rules } = key;
  const { limits } = rules;
  return {
    ...newKeyCeilings(requestsPerMinuteCeiling, limits, defaults),
    ...findValues(limits, { source: "contract", scope: "key", keyId }),
    ...(modelId !== undefined &&
      findValues(limits, { source: "contract", scope: "model", keyId, modelId })),
  };
}

export function newKeyCeilings(
  requestsPerMinuteCeiling: number,
  limits: readonly StoredLimit[],
  defaults: LimitDefaults,
): LimitCeilings {
  return {
    requestsPerMinute: defaults.keyRequestsPerMinute || requestsPerMinuteCeiling,
    tokensPerMinute: defaults.tokensPerMinute,
    concurrent: defaults.concurrentRequests,
    ...findValues(limits, { source: "contract", scope: "key" }),
  };
}

export function orgCeilings(
  limits: readonly StoredLimit[],
  modelId: string | undefined,
  defaults: LimitDefaults,
): LimitCeilings {
  return {
    requestsPerMinute: defaults.orgRequestsPerMinute,
    tokensPerMinute: defaults.tokensPerMinute,
    concurrent: defaults.concurrentRequests,
    ...findValues(limits, { source: "contract", scope: "org" }),
    ...(modelId !== undefined &&
      findValues(limits, { source: "contract", scope: "model", modelId })),
  };
}

/** A contract for this key takes precedence over a contract for every key. */
export function keyContract(limits: readonly StoredLimit[], keyId: KeyId): LimitValues {
  return {
    ...findValues(limits, { source: "contract", scope: "key" }),
    ...findValues(limits, { source: "contract", scope: "key", keyId }),
  };
}

export function findValues(limits: readonly StoredLimit[], name: LimitTarget): LimitValues {
  const stored = limits.find((limit) => isNamed(limit, name));
  if (stored === undefined) return {};
  const { requestsPerMinute, tokensPerMinute, concurrent } = stored;
  return defined({ requestsPerMinute, tokensPerMinute, concurrent });
}

export function isNamed(limit: StoredLimit, name: LimitTarget): boolean {
  return (
    limit.source === name.source &&
    limit.scope === name.scope &&
    limit.keyId === name.keyId &&
    limit.modelId === name.modelId
  );
}

/** Takes the lower value of each limit; a limit that only one side sets is kept. */
export function takeLower(one: LimitValues, other: LimitValues): LimitValues {
  const lower = { ...one };
  for (const field of LIMIT_FIELDS) {
    const value = other[field];
    if (value !== undefined) lower[field] = Math.min(value, lower[field] ?? value);
  }
  return lower;
}

export const LIMIT_FIELDS = ["requestsPerMinute", "tokensPerMinute", "concurrent"] as const;
