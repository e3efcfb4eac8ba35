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
  /** Notified of each cooldown that began here, for the other instances. */
  readonly onCooldown?: (poolId: string, forMs: number) => void;
}

/** More than can be added in the same time, so that unused pools do not accumulate. */
const SWEPT_PER_THROTTLE = 2;

/**
 * This process's knowledge of the pools: which rest after a 429, and how much of each is usable.
 *
 * A 429 takes a fifth of what was usable, down to a tenth of what was declared; each quiet second
 * gives one percent of it back. Usable is never more than declared.
 */
export class PoolBoard {
  readonly #limits: PoolBoardOptions["limits"];
  readonly #onCooldown: PoolBoardOptions["onCooldown"];
  /** Keyed by the pool object: claims start empty with a new catalog and go with the old one. */
  readonly #claims: WeakMap<Pool, PoolClaims> = new WeakMap();
  /** By pool id, so that it outlives a catalog. A pool that nothing is wrong with is not in it. */
  readonly #throttles: Map<string, PoolThrottle> = new Map();

  constructor({ limits, onCooldown }: PoolBoardOptions) {
    this.#limits = limits;
    this.#onCooldown = onCooldown;
  }

  /** Pools with which something is, or was a moment ago, wrong. */
  get throttledCount(): number {
    return this.#throttles.size;
  }

  /**
   * Undefined if the pool has no limits, there is nothing to claim. While nothing changes, the same
   * organization gets the very same claim.
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

  /** Milliseconds that the pool still cools down; 0 = it does not. */
  cooldownMs(poolId: string, nowMs: number): number {
    const throttle = this.#findThrottle(poolId, nowMs);
    return throttle === undefined ? 0 : Math.max(0, throttle.cooldownUntilMs - nowMs);
  }

  /** Whole percent of what was declared that is used at most. */
  usablePercent(poolId: string, nowMs: number): number {
    return usablePercent(this.#findThrottle(poolId, nowMs), nowMs);
  }

  /**
   * A provider said 429: the pool cools down for all its deployments, `seconds` and 60 at most, and
   * shrinks for a while. Several within a second are one.
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
   * Records that another instance received a 429 and cools down for this long from now on. Repeated
   * notices of the same 429 change nothing.
   */
  learn(poolId: string, forMs: number, nowMs: number): void {
    if (forMs <= 0) return;
    const known = this.#findThrottle(poolId, nowMs);
    this.#remember(poolId, applyRemoteCooldown(known, { cooldownMs: forMs, nowMs }), nowMs);
  }

  /** Pools without a 429 for longest stand first, and leave when they are over. */
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
