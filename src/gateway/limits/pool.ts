import type { ScopeClaim } from "./limit-store.ts";

/**
 * Shared capacity: that which a provider declared, or which an operator states for several
 * listings.
 */
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
  /** Whole percent of every limit that one organization may use: rounded down, at least 1. */
  readonly orgSharePercent: number;
}
/** The claim to make before a dispatch into a pool. */
export interface PoolClaim {
  readonly slot: string;
  /** The organization's share, then the pool itself. */
  readonly scopes: readonly ScopeClaim[];
}
