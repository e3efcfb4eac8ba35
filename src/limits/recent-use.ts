/** What was charged in one second of the last minute, to scopes of one slot. */
export interface RecentCharge {
  /** Whole seconds ago, rounded down: never older than it is. */
  readonly ageSeconds: number;
  readonly scopeIds: readonly string[];
  readonly requests: number;
  /** Observed tokens where the end was seen, else the estimate. */
  readonly tokens: number;
}

/**
 * What a shared limit store that lost its data asks the journal. Answers with nothing when the slot
 * is new, or of a kind that the journal does not know.
 */
export interface RecentUse {
  recentUse(slot: string): Promise<readonly RecentCharge[]>;
}
