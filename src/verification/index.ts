export { listingKey } from "./listing-name.ts";
export { BREACH, type Breaches, Conduct } from "./conduct.ts";
export type { ListingVerdict, RecordedCheck, SuspectListing } from "./verdict-store.ts";
export { PostgresVerdictStore, type VerdictStore } from "./postgres-verdict-store.ts";
export {
  type ListingVerification,
  stateOf,
  VERIFIED_FOR_MS,
  Verification,
  type VerificationState,
  type VerifiedListing,
} from "./verification.ts";
export { type DueListing, dueListings } from "./watch-schedule.ts";
export type { WatchedRunOutcome } from "./watch-store.ts";
export { PostgresWatchStore, type WatchSession, type WatchStore } from "./postgres-watch-store.ts";
