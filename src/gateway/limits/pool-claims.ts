import type { OrgId } from "../../kernel/index.ts";
import { poolClaim } from "./pool-scopes.ts";
import type { PoolClaim, Pool } from "./pool.ts";

/** An organization is dropped after one to two of these periods without a claim. */
const ROUND_MS = 600_000;
/**
 * The organizations that are remembered in each period; those of the previous period are kept too.
 */
const ORGS_PER_ROUND_MAX = 10_000;

/**
 * The claims of one pool by organization. The very same one comes back as long as nothing about it
 * changes: a shared store prepares a claim's scopes once. Memory is bounded by two generations.
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

  /** Claims held in memory now. */
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

  /** The usable share changed: every claim states another limit now. */
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
