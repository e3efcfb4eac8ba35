export { listingKey } from "./listing-name.ts";
export { BREACH, type Breaches, Conduct } from "./conduct.ts";
export { PostgresVerdictStore } from "./postgres-verdict-store.ts";
export { PostgresWatchStore } from "./postgres-watch-store.ts";
export type {
  ListingVerdict,
  RecordedCheck,
  SuspectListing,
  VerdictStore,
} from "./verdict-store.ts";
export {
  type ListingVerification,
  stateOf,
  VERIFIED_FOR_MS,
  Verification,
  type VerificationState,
  type VerifiedListing,
} from "./verification.ts";
export { type DueListing, dueListings } from "./watch-schedule.ts";
export type { WatchedRunOutcome, WatchSession, WatchStore } from "./watch-store.ts";
