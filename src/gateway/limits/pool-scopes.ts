import { assert, type OrgId, defined } from "../../kernel/index.ts";
import type { DeclaredWindow, LimitSet, ScopeClaim } from "./limit-store.ts";
import { secondsUntilWhole } from "./pool-throttle.ts";

/** Capacity that listings share, declared by a provider or by the operator. */
export interface Pool {
  readonly id: string;
  readonly capacity: readonly {
    readonly type: "request" | "prompt" | "completion";
    readonly per: "minute" | "hour" | "day";
    readonly value: number;
  }[];
  readonly tokensPerMinute?: number;
  readonly requestsPerSecond?: number;
  readonly concurrent?: number;
  /** The share of every limit that one organization may use, in whole percent. */
  readonly orgSharePercent: number;
}
export interface PoolClaim {
  readonly slot: string;
  readonly scopes: readonly ScopeClaim[];
}

/**
 * Builds the claim of an organization: its share of the pool, then the pool itself. `usablePercent`
 * (1 to 100) of every declared limit is usable now, and the share is `orgSharePercent` of the
 * usable limit. Both are rounded down, to at least 1.
 */
export function poolClaim(pool: Pool, orgId: OrgId, usablePercent: number): PoolClaim {
  const declared = declaredLimits(pool);
  const usable = portionOfAll(declared, usablePercent);
  const share = (of: LimitSet): LimitSet => portionOfAll(of, pool.orgSharePercent);
  const toWhole = (limits: LimitSet): Pick<ScopeClaim, "whole"> =>
    usablePercent === 100 ? {} : { whole: { limits, inSeconds: secondsUntilWhole(usablePercent) } };
  const shownId = `pool-share:${pool.id}`;
  return {
    slot: poolSlot(pool.id),
    scopes: [
      {
        scope: "pool",
        id: `${shownId}@${orgId}`,
        shownId,
        limits: share(usable),
        ...toWhole(share(declared)),
      },
      {
        scope: "pool",
        id: poolScopeId(pool.id),
        limits: usable,
        ...toWhole(declared),
      },
    ],
  };
}

export function poolSlot(poolId: string): string {
  return `{pool:${poolId}}`;
}

export function poolScopeId(poolId: string): string {
  return `pool:${poolId}`;
}

export function hasLimits(pool: Pool): boolean {
  const { capacity, tokensPerMinute, requestsPerSecond, concurrent } = pool;
  return capacity.length > 0 || (tokensPerMinute ?? requestsPerSecond ?? concurrent) !== undefined;
}

/** Computes `percent` of a limit, rounded down, at least 1. Exact for whole numbers. */
export function portion(limit: number, percent: number): number {
  assert(Number.isSafeInteger(limit) && limit > 0, "a pool's limit is a whole number above 0");
  assert(Number.isInteger(percent) && percent >= 1 && percent <= 100, "a portion is 1 to 100 %");
  // Computed in hundreds plus the rest, because the product of a large limit would not be exact.
  const rest = limit % 100;
  const hundreds = (limit - rest) / 100;
  return Math.max(1, hundreds * percent + Math.floor((rest * percent) / 100));
}

const SECONDS = { minute: 60, hour: 3_600, day: 86_400 } as const;

/**
 * Converts a pool's declared capacity to limits. Requests per minute become `requestsPerMinute`
 * instead of a window, so that clients see how many are left.
 */
function declaredLimits(pool: Pool): LimitSet {
  const { tokensPerMinute, requestsPerSecond, concurrent } = pool;
  const isPlain = ({ type, per }: Pool["capacity"][number]): boolean =>
    type === "request" && per === "minute";
  const requestsPerMinute = pool.capacity.find(isPlain)?.value;
  const windows = pool.capacity
    .filter((each) => !isPlain(each))
    .map(({ type, per, value }): DeclaredWindow => {
      return { kind: type, seconds: SECONDS[per], limit: value };
    });
  return defined({
    requestsPerMinute,
    tokensPerMinute,
    requestsPerSecond,
    concurrent,
    windows: windows.length > 0 ? windows : undefined,
  });
}

function portionOfAll(limits: LimitSet, percent: number): LimitSet {
  const { requestsPerMinute, tokensPerMinute, requestsPerSecond, concurrent, windows } = limits;
  const of = (limit: number | undefined): number | undefined =>
    limit === undefined ? undefined : portion(limit, percent);
  return defined({
    requestsPerMinute: of(requestsPerMinute),
    tokensPerMinute: of(tokensPerMinute),
    requestsPerSecond: of(requestsPerSecond),
    concurrent: of(concurrent),
    windows: windows?.map((each) => ({ ...each, limit: portion(each.limit, percent) })),
  });
}

/**
 * How long one generation of cached claims lasts, in milliseconds. An organization's claim is
 * dropped after one to two generations without use.
 */
const ROUND_MS = 600_000;
/** The most organizations in one generation; the previous generation is kept too. */
const ORGS_PER_ROUND_MAX = 10_000;

/**
 * Caches the claims of one pool by organization. Returns the same object until the limits change,
 * because the Redis store caches what it derives from the scopes. Two generations bound the memory.
 */
export class PoolClaims {
  readonly #pool: Pool;
  #percent = 100;
  #young: Map<OrgId, PoolClaim> = new Map();
  #old: Map<OrgId, PoolClaim> = new Map();
  #turnedAtMs: number;

  constructor(pool: Pool, nowMs: number) {
    this.#pool = pool;
    this.#turnedAtMs = nowMs;
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  of(orgId: OrgId, usablePercent: number, nowMs: number): PoolClaim {
    if (usablePercent !== this.#percent) this.#startOver(usablePercent, nowMs);
    else if (nowMs - this.#turnedAtMs >= ROUND_MS) this.#turn(nowMs);
    const young = this.#young.get(orgId);
    if (young !== undefined) return young;
    if (this.#young.size >= ORGS_PER_ROUND_MAX) this.#turn(nowMs);
    const claim = this.#old.get(orgId) ?? poolClaim(this.#pool, orgId, usablePercent);
    this.#old.delete(orgId);
    this.#young.set(orgId, claim);
    return claim;
  }

  #startOver(usablePercent: number, nowMs: number): void {
    this.#percent = usablePercent;
    this.#turn(nowMs);
    this.#old = new Map();
  }

  #turn(nowMs: number): void {
    this.#old = this.#young;
    this.#young = new Map();
    this.#turnedAtMs = nowMs;
  }
}
