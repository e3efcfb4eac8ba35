import type { OrgId } from "../../kernel/index.ts";
import type { LimitStore } from "./limit-store.ts";
import {
  hasLimits,
  type Pool,
  type PoolClaim,
  PoolClaims,
  poolScopeId,
  poolSlot,
} from "./pool-scopes.ts";
import {
  applyRemoteCooldown,
  afterTooMany,
  shouldBroadcast,
  isOver,
  usablePercent,
  type PoolThrottle,
} from "./pool-throttle.ts";

export interface PoolBoardOptions {
  readonly limits: Pick<LimitStore, "cool">;
  /** Called with each cooldown that a 429 to this process began, to tell the other instances. */
  readonly onCooldown?: (poolId: string, forMs: number) => void;
}

/**
 * How many remembered pools are checked for expiry on each 429 or notice of one. More than one, so
 * that expired entries do not accumulate.
 */
const SWEPT_PER_THROTTLE = 2;

/**
 * Tracks, for this process, which pools cool down after a 429 and how much of each is usable.
 *
 * A 429 reduces the usable capacity by a fifth, down to a tenth of the declared capacity. Each
 * second without a 429 restores one percent of the declared capacity, up to all of it.
 */
export class PoolBoard {
  readonly #limits: PoolBoardOptions["limits"];
  readonly #onCooldown: PoolBoardOptions["onCooldown"];
  /** Keyed by the pool object, so that the claims of an old catalog are dropped with it. */
  readonly #claims: WeakMap<Pool, PoolClaims> = new WeakMap();
  /** By pool id, so that a throttle outlives a catalog. Pools without a recent 429 are absent. */
  readonly #throttles: Map<string, PoolThrottle> = new Map();

  constructor({ limits, onCooldown }: PoolBoardOptions) {
    this.#limits = limits;
    this.#onCooldown = onCooldown;
  }

  get throttledCount(): number {
    return this.#throttles.size;
  }

  /**
   * Returns the claim of an organization; undefined if the pool has no limits. Returns the same
   * object until the limits change, because the Redis store caches what it derives from the scopes.
   */
  buildClaim(pool: Pool, orgId: OrgId, nowMs: number): PoolClaim | undefined {
    if (!hasLimits(pool)) return undefined;
    let claims = this.#claims.get(pool);
    if (claims === undefined) {
      claims = new PoolClaims(pool, nowMs);
      this.#claims.set(pool, claims);
    }
    return claims.of(orgId, usablePercent(this.#findThrottle(pool.id, nowMs), nowMs), nowMs);
  }

  cooldownMs(poolId: string, nowMs: number): number {
    const throttle = this.#findThrottle(poolId, nowMs);
    return throttle === undefined ? 0 : Math.max(0, throttle.cooldownUntilMs - nowMs);
  }

  usablePercent(poolId: string, nowMs: number): number {
    return usablePercent(this.#findThrottle(poolId, nowMs), nowMs);
  }

  /**
   * Handles a provider's 429: the pool cools down for all its deployments, for `seconds` but at
   * most 60, and its capacity shrinks. Several 429s within a second count as one.
   */
  throttled(pool: Pool, seconds: number, nowMs: number): void {
    const known = this.#findThrottle(pool.id, nowMs);
    const after = afterTooMany(known, { cooldownMs: seconds * 1000, nowMs });
    const isBroadcast = shouldBroadcast(after, nowMs);
    this.#remember(
      pool.id,
      isBroadcast ? { ...after, broadcastUntilMs: after.cooldownUntilMs } : after,
      nowMs,
    );
    if (!isBroadcast) return;
    const cooldownMs = after.cooldownUntilMs - nowMs;
    if (hasLimits(pool)) {
      this.#limits.cool(poolSlot(pool.id), poolScopeId(pool.id), cooldownMs / 1000, nowMs);
    }
    this.#onCooldown?.(pool.id, cooldownMs);
  }

  /**
   * Handles the notice that another instance received a 429 and cools down for `forMs` from now on.
   * Repeated notices of one 429 change nothing.
   */
  learn(poolId: string, forMs: number, nowMs: number): void {
    if (forMs <= 0) return;
    const known = this.#findThrottle(poolId, nowMs);
    this.#remember(poolId, applyRemoteCooldown(known, { cooldownMs: forMs, nowMs }), nowMs);
  }

  #remember(poolId: string, throttle: PoolThrottle, nowMs: number): void {
    this.#throttles.delete(poolId);
    this.#throttles.set(poolId, throttle);
    const oldest = this.#throttles.keys();
    for (let seen = 0; seen < SWEPT_PER_THROTTLE; seen += 1) {
      const next = oldest.next();
      if (next.done !== true) this.#findThrottle(next.value, nowMs);
    }
  }

  #findThrottle(poolId: string, nowMs: number): PoolThrottle | undefined {
    const throttle = this.#throttles.get(poolId);
    if (throttle === undefined || !isOver(throttle, nowMs)) return throttle;
    this.#throttles.delete(poolId);
    return undefined;
  }
}
