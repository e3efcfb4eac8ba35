import type { PoolDeclaration } from "../../catalog/index.ts";
import { assert, defined, type OrgId, RETRY_AFTER_SECONDS_MAX } from "../../kernel/index.ts";
import type { DeclaredWindow, LimitSet, LimitStore, ScopeClaim } from "./limit-store.ts";

/** Capacity that listings share, declared by a provider or by the operator. */
export type Pool = PoolDeclaration;

export interface PoolClaim {
  readonly slot: string;
  readonly scopes: readonly ScopeClaim[];
}

export interface PoolBoardOptions {
  readonly limits: Pick<LimitStore, "cool">;
  /** Called when a 429 to this process begins a cooldown, or prolongs one by a second or more. */
  readonly onCooldown?: (poolId: string, forMs: number) => void;
}

/** Entries checked when one is added: two, so that expired entries do not accumulate. */
const SWEPT_PER_THROTTLE = 2;

/**
 * Tracks, for this process, which pools cool down after a 429 and how much of each is usable. A 429
 * lowers the usable capacity by a fifth, but never below a tenth of the declared capacity. Each
 * second without a 429 restores one percent of the declared capacity.
 */
export class PoolBoard {
  readonly #options: PoolBoardOptions;
  /** Keyed by the pool object, so that the claims of an old catalog are dropped with it. */
  readonly #claims: WeakMap<Pool, PoolClaims> = new WeakMap();
  /** By pool id, so that a throttle outlives a catalog. Pools without a recent 429 are absent. */
  readonly #throttles: Map<string, PoolThrottle> = new Map();

  constructor(options: PoolBoardOptions) {
    this.#options = options;
  }

  get throttledCount(): number {
    return this.#throttles.size;
  }

  /**
   * Undefined if the pool has no limits. Returns the same object while it is in use and the limits
   * stay, because the Redis store caches by the identity of the scopes.
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
   * Handles a provider's 429: the pool cools down for `seconds` but at most 60, and its capacity
   * shrinks, but only once for all 429s within a second.
   */
  throttled(pool: Pool, seconds: number, nowMs: number): void {
    const known = this.#findThrottle(pool.id, nowMs);
    const after = afterTooMany(known, { cooldownMs: seconds * 1000, nowMs });
    const isBroadcast = shouldBroadcast(after, nowMs);
    const told = isBroadcast ? { ...after, broadcastUntilMs: after.cooldownUntilMs } : after;
    this.#remember(pool.id, told, nowMs);
    if (!isBroadcast) return;
    const cooldownMs = after.cooldownUntilMs - nowMs;
    const { limits, onCooldown } = this.#options;
    if (hasLimits(pool)) {
      limits.cool(poolSlot(pool.id), poolScopeId(pool.id), cooldownMs / 1000, nowMs);
    }
    onCooldown?.(pool.id, cooldownMs);
  }

  /** Another instance had a 429: the pool cools down for `forMs` from now on. May be repeated. */
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

/** How far a provider's 429s have throttled one pool. Times are monotonic milliseconds. */
export interface PoolThrottle {
  readonly cooldownUntilMs: number;
  /** The end of the cooldown that the other instances know of. */
  readonly broadcastUntilMs: number;
  /** Whole percent of the declared capacity that was usable right after the latest 429. */
  readonly percent: number;
  readonly latestMs: number;
  /** The time of the last 429 that shrank the pool; 429s right after it shrink nothing. */
  readonly shrunkAtMs: number;
}

export interface TooMany {
  /** The length of the pool's cooldown; a running cooldown that ends later stays. */
  readonly cooldownMs: number;
  readonly nowMs: number;
}

const SHRINK_TO_PERCENT = 80;
const USABLE_PERCENT_MIN = 10;
/** Concurrent requests get their 429s together, so 429s within this time count as one. */
const TOGETHER_MS = 1_000;
/** Tolerance for reported ends of cooldowns: notices arrive late, and clocks differ. */
const REMOTE_NOTICE_MS = 1_000;

export function afterTooMany(known: PoolThrottle | undefined, event: TooMany): PoolThrottle {
  const { nowMs } = event;
  const before = usablePercent(known, nowMs);
  const isSame = known !== undefined && nowMs - known.shrunkAtMs < TOGETHER_MS;
  const shrunk = Math.max(USABLE_PERCENT_MIN, Math.floor((before * SHRINK_TO_PERCENT) / 100));
  return {
    cooldownUntilMs: cooldownEnd(known, event),
    broadcastUntilMs: known?.broadcastUntilMs ?? Number.NEGATIVE_INFINITY,
    percent: isSame ? before : shrunk,
    latestMs: nowMs,
    shrunkAtMs: isSame ? known.shrunkAtMs : nowMs,
  };
}

/** The throttle after another instance's notice, which shrinks nothing if its 429 is known. */
export function applyRemoteCooldown(known: PoolThrottle | undefined, event: TooMany): PoolThrottle {
  const cooldownUntilMs = cooldownEnd(known, event);
  const isKnown = known !== undefined && cooldownUntilMs - known.cooldownUntilMs < REMOTE_NOTICE_MS;
  const after = isKnown ? { ...known, cooldownUntilMs } : afterTooMany(known, event);
  return { ...after, broadcastUntilMs: cooldownUntilMs };
}

export function usablePercent(throttle: PoolThrottle | undefined, nowMs: number): number {
  if (throttle === undefined) return 100;
  const quietSeconds = Math.floor(Math.max(0, nowMs - throttle.latestMs) / 1000);
  return Math.min(100, throttle.percent + quietSeconds);
}

/** True while the pool cools down, unless other instances know an end under a second earlier. */
export function shouldBroadcast(
  { cooldownUntilMs, broadcastUntilMs }: PoolThrottle,
  nowMs: number,
): boolean {
  if (cooldownUntilMs <= nowMs) return false;
  return broadcastUntilMs <= nowMs || cooldownUntilMs - broadcastUntilMs >= TOGETHER_MS;
}

/** True once all of the pool is usable and even a late notice of its cooldown has no effect. */
export function isOver(throttle: PoolThrottle, nowMs: number): boolean {
  const hasCooledDown = nowMs > throttle.cooldownUntilMs + REMOTE_NOTICE_MS;
  return hasCooledDown && usablePercent(throttle, nowMs) === 100;
}

function cooldownEnd(known: PoolThrottle | undefined, { cooldownMs, nowMs }: TooMany): number {
  const untilMs = nowMs + Math.min(cooldownMs, RETRY_AFTER_SECONDS_MAX * 1000);
  return Math.max(untilMs, known?.cooldownUntilMs ?? Number.NEGATIVE_INFINITY);
}

/**
 * Builds the claim of an organization: its share of the pool, then the pool. `percent` (1 to 100)
 * of each declared limit is usable, and the share is `orgSharePercent` of the usable limit; both
 * are rounded down, but at least 1.
 */
export function poolClaim(pool: Pool, orgId: OrgId, percent: number): PoolClaim {
  const declared = declaredLimits(pool);
  const usable = portionOfAll(declared, percent);
  const share = (of: LimitSet): LimitSet => portionOfAll(of, pool.orgSharePercent);
  // One percent returns per second if no further 429 arrives.
  const inSeconds = 100 - percent;
  const toWhole = (limits: LimitSet): Pick<ScopeClaim, "whole"> =>
    inSeconds === 0 ? {} : { whole: { limits, inSeconds } };
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

/** Computes `percent` of a limit, rounded down, at least 1. Exact for every limit it accepts. */
export function portion(limit: number, percent: number): number {
  assert(Number.isSafeInteger(limit) && limit > 0, "a pool's limit is a whole number above 0");
  assert(Number.isInteger(percent) && percent >= 1 && percent <= 100, "a portion is 1 to 100 %");
  // Computed in hundreds plus the rest, because `limit * percent` is not exact for a large limit.
  const rest = limit % 100;
  const hundreds = (limit - rest) / 100;
  return Math.max(1, hundreds * percent + Math.floor((rest * percent) / 100));
}

const SECONDS = { minute: 60, hour: 3_600, day: 86_400 } as const;

/** Requests per minute become `requestsPerMinute`, no window: clients then see what is left. */
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

/** The length of one generation; a claim is dropped after one to two generations without use. */
const ROUND_MS = 600_000;
/** The most organizations in one generation; the previous generation is kept too. */
const ORGS_PER_ROUND_MAX = 10_000;

/**
 * Caches the claims of one pool by organization, in two generations, which bound the memory.
 * Returns the same object while the claim is in use and the limits stay.
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

  of(orgId: OrgId, percent: number, nowMs: number): PoolClaim {
    if (percent !== this.#percent) {
      this.#percent = percent;
      this.#turn(nowMs);
      this.#old.clear();
    } else if (nowMs - this.#turnedAtMs >= ROUND_MS) {
      this.#turn(nowMs);
    }
    const young = this.#young.get(orgId);
    if (young !== undefined) return young;
    if (this.#young.size >= ORGS_PER_ROUND_MAX) this.#turn(nowMs);
    const claim = this.#old.get(orgId) ?? poolClaim(this.#pool, orgId, percent);
    this.#old.delete(orgId);
    this.#young.set(orgId, claim);
    return claim;
  }

  #turn(nowMs: number): void {
    this.#old = this.#young;
    this.#young = new Map();
    this.#turnedAtMs = nowMs;
  }
}
