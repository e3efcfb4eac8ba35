import { assert, type OrgId } from "../../kernel/index.ts";
import type { DeclaredWindow, LimitSet, ScopeClaim } from "./limit-store.ts";
import { secondsUntilWhole } from "./pool-throttle.ts";
import type { PoolClaim, Pool } from "./pool.ts";

/**
 * The scopes in which a request of the organization has to fit: its share of the pool, then the
 * pool itself. Of every declared limit `usablePercent` (1 to 100) is usable now, and of that the
 * share is the pool's percentage; both are rounded down and at least 1.
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

/** The slot under which a shared store keeps a pool with all shares of it. */
export function poolSlot(poolId: string): string {
  return `{pool:${poolId}}`;
}

export function poolScopeId(poolId: string): string {
  return `pool:${poolId}`;
}

/** True if the pool has a limit to claim. */
export function hasLimits(pool: Pool): boolean {
  const { capacity, tokensPerMinute, requestsPerSecond, concurrent } = pool;
  return capacity.length > 0 || (tokensPerMinute ?? requestsPerSecond ?? concurrent) !== undefined;
}

/** `percent` of a limit, rounded down and at least 1; exact for whole numbers. */
export function portion(limit: number, percent: number): number {
  assert(Number.isSafeInteger(limit) && limit > 0, "a pool's limit is a whole number above 0");
  assert(Number.isInteger(percent) && percent >= 1 && percent <= 100, "a portion is 1 to 100 %");
  // Whole hundreds separately from the remainder: the product of a large limit would not be exact.
  const rest = limit % 100;
  const hundreds = (limit - rest) / 100;
  return Math.max(1, hundreds * percent + Math.floor((rest * percent) / 100));
}

const SECONDS = { minute: 60, hour: 3_600, day: 86_400 } as const;

/** Requests per minute are a limit of their own, so that callers see what remains of them. */
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
  return {
    ...(requestsPerMinute !== undefined && { requestsPerMinute }),
    ...(tokensPerMinute !== undefined && { tokensPerMinute }),
    ...(requestsPerSecond !== undefined && { requestsPerSecond }),
    ...(concurrent !== undefined && { concurrent }),
    ...(windows.length > 0 && { windows }),
  };
}

function portionOfAll(limits: LimitSet, percent: number): LimitSet {
  const { requestsPerMinute, tokensPerMinute, requestsPerSecond, concurrent, windows } = limits;
  const of = (limit: number): number => portion(limit, percent);
  return {
    ...(requestsPerMinute !== undefined && { requestsPerMinute: of(requestsPerMinute) }),
    ...(tokensPerMinute !== undefined && { tokensPerMinute: of(tokensPerMinute) }),
    ...(requestsPerSecond !== undefined && { requestsPerSecond: of(requestsPerSecond) }),
    ...(concurrent !== undefined && { concurrent: of(concurrent) }),
    ...(windows !== undefined && {
      windows: windows.map((each) => ({ ...each, limit: of(each.limit) })),
    }),
  };
}
