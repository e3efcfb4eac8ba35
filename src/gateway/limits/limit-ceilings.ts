import type { KeyId } from "../../kernel/index.ts";
import type { LimitDefaults, LimitTarget, LimitValues, StoredLimit } from "./stored-limit.ts";

/** The most that a customer may set each limit of a scope to. */
export type LimitCeilings = Required<LimitValues>;

/** The facts on which the ceilings of a key depend. */
export interface CeilingKey {
  readonly keyId: KeyId;
  readonly requestsPerMinuteCeiling: number;
  readonly rules: { readonly limits: readonly StoredLimit[] };
}

/** Ceilings of a key, or of one model under it: what a contract says, else the default. */
export function keyCeilings(
  key: CeilingKey,
  modelId: string | undefined,
  defaults: LimitDefaults,
): LimitCeilings {
  const { keyId, requestsPerMinuteCeiling, rules } = key;
  const { limits } = rules;
  return {
    ...newKeyCeilings(requestsPerMinuteCeiling, limits, defaults),
    ...valuesOf(limits, { source: "contract", scope: "key", keyId }),
    ...(modelId === undefined
      ? {}
      : valuesOf(limits, { source: "contract", scope: "model", keyId, modelId })),
  };
}

/** Ceilings of a key that is not made yet: what a contract says of every key, else the default. */
export function newKeyCeilings(
  requestsPerMinuteCeiling: number,
  limits: readonly StoredLimit[],
  defaults: LimitDefaults,
): LimitCeilings {
  return {
    requestsPerMinute: defaults.keyRequestsPerMinute || requestsPerMinuteCeiling,
    tokensPerMinute: defaults.tokensPerMinute,
    concurrent: defaults.concurrentRequests,
    ...valuesOf(limits, { source: "contract", scope: "key" }),
  };
}

/** Ceilings of an organization as a whole, or of one model in all of it. */
export function orgCeilings(
  limits: readonly StoredLimit[],
  modelId: string | undefined,
  defaults: LimitDefaults,
): LimitCeilings {
  return {
    requestsPerMinute: defaults.orgRequestsPerMinute,
    tokensPerMinute: defaults.tokensPerMinute,
    concurrent: defaults.concurrentRequests,
    ...valuesOf(limits, { source: "contract", scope: "org" }),
    ...(modelId === undefined
      ? {}
      : valuesOf(limits, { source: "contract", scope: "model", modelId })),
  };
}

/** The contract's limits of a key: its own before those for every key. */
export function keyContract(limits: readonly StoredLimit[], keyId: KeyId): LimitValues {
  return {
    ...valuesOf(limits, { source: "contract", scope: "key" }),
    ...valuesOf(limits, { source: "contract", scope: "key", keyId }),
  };
}

/** The values of the stored limit of this name; none when it is not stored. */
export function valuesOf(limits: readonly StoredLimit[], name: LimitTarget): LimitValues {
  const stored = limits.find((limit) => isNamed(limit, name));
  if (stored === undefined) return {};
  const { requestsPerMinute, tokensPerMinute, concurrent } = stored;
  return {
    ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
    ...(tokensPerMinute === undefined ? {} : { tokensPerMinute }),
    ...(concurrent === undefined ? {} : { concurrent }),
  };
}

/** Is this the stored limit of that name? */
export function isNamed(limit: StoredLimit, name: LimitTarget): boolean {
  return (
    limit.source === name.source &&
    limit.scope === name.scope &&
    limit.keyId === name.keyId &&
    limit.modelId === name.modelId
  );
}

/** The lower of two, limit by limit; one that only one of them has is that one's. */
export function lowerOf(one: LimitValues, other: LimitValues): LimitValues {
  const lower = { ...one };
  for (const field of LIMIT_FIELDS) {
    const value = other[field];
    if (value !== undefined) lower[field] = Math.min(value, lower[field] ?? value);
  }
  return lower;
}

/** The limits that a customer may set. */
export const LIMIT_FIELDS = ["requestsPerMinute", "tokensPerMinute", "concurrent"] as const;
