export { departedScopes } from "./departed-scopes.ts";
export {
  type AskedRequest,
  endpointScope,
  endpointSelfRows,
  endpointSelfScopes,
  type LimitedKey,
  type LimitRow,
  limitRows,
  limitScopes,
  orgLimitRows,
  orgScopes,
  requestsPerMinuteCeilingOf,
} from "./effective-limits.ts";
export {
  type CeilingKey,
  isNamed,
  keyCeilings,
  type LimitCeilings,
  lowerOf,
  newKeyCeilings,
  orgCeilings,
} from "./limit-ceilings.ts";
export {
  type ClaimOutcome,
  type LimitLease,
  type LimitStore,
  orgSlot,
  type ScopeClaim,
  type ScopeUsage,
  tokenCount,
  type TokenCount,
} from "./limit-store.ts";
export { LimitStoreCounts } from "./limit-store-counts.ts";
export { MemoryLimitStore } from "./memory/memory-limit-store.ts";
export { mostTokens, neverFits, secondsThrottled } from "./never-fits.ts";
export { PoolBoard } from "./pool-board.ts";
export { PostgresRecentUse } from "./recent-use-rows.ts";
export type { JournalRecentUse, PoolMember } from "./recent-use.ts";
export { RedisLimitStore } from "./redis/redis-limit-store.ts";
export type {
  EndpointLimits,
  LimitDefaults,
  LimitTarget,
  LimitValues,
  StoredLimit,
} from "./stored-limit.ts";
