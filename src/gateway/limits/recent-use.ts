import type { TokenCount } from "./limit-store.ts";

/** The charges of one second of the last minute, to scopes of one slot. */
export interface RecentCharge extends TokenCount {
  /** Whole seconds ago, rounded down: never older than it is. */
  readonly ageSeconds: number;
  readonly scopeIds: readonly string[];
  readonly requests: number;
}

/**
 * The history that a shared limit store reads when it has lost its data. Answers with nothing when
 * the slot is new, or of a kind that is not recorded.
 */
export interface RecentUse {
  recentUse(slot: string): Promise<readonly RecentCharge[]>;
}

/** A listing whose attempts count in a pool. */
export interface PoolMember {
  readonly providerId: string;
  readonly modelId: string;
}

/**
 * Reads the use of the last minute from the journal, which does not know which listings share a
 * pool.
 */
export interface JournalRecentUse {
  recentUse(
    slot: string,
    membersOf: (poolId: string) => readonly PoolMember[],
  ): Promise<readonly RecentCharge[]>;
}
