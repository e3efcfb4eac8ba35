import type { ScopeClaim } from "./limit-store.ts";

/** Capacity that is shared: what a provider declared, or what an operator says of several listings. */
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
