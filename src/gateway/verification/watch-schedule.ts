import { createHash } from "node:crypto";

import { assert } from "../../kernel/index.ts";
import { listingKey, type ListingName } from "./conduct.ts";
import type { KnownRuns } from "./postgres-watch-store.ts";
import type { VerifiedListing } from "./verification.ts";

/**
 * Why a run is due: the listing had none yet (`unchecked`), live answers have broken its promises
 * since the last run (`suspect`), or the last run tested another manifest or upstream id
 * (`changed`), had no conclusive verdict (`retry`), or is becoming too old (`interval`).
 */
export type DueReason = "unchecked" | "suspect" | "changed" | "retry" | "interval";

export interface DueListing<L extends ListingName = ListingName> {
  readonly listing: L;
  /** When the run is due, in milliseconds by the database's clock; a time in the past means now. */
  readonly atMs: number;
  readonly reason: DueReason;
}

/** A run without a conclusive verdict is repeated after one seventh of the interval. */
const RETRY_PARTS = 7;
/** Two regular runs are at least a quarter of the interval apart. */
const EARLIEST_PARTS = 4;
const HASH_VALUES = 2 ** 32;

export function dueListings<L extends VerifiedListing>(
  listings: readonly L[],
  known: ReadonlyMap<string, KnownRuns>,
  intervalMs: number,
): readonly DueListing<L>[] {
  const dues = listings.map((listing) => {
    const { atMs, reason } = computeDue(listing, known.get(listingKey(listing)) ?? {}, intervalMs);
    return { listing, atMs, reason };
  });
  // Mixes the runs that are due at once, so that no provider gets all of its runs in a row.
  return dues.toSorted(
    (a, b) => a.atMs - b.atMs || computePhase(a.listing) - computePhase(b.listing),
  );
}

function computeDue(
  listing: VerifiedListing,
  { verdict, attempt, suspectSinceMs }: KnownRuns,
  intervalMs: number,
): Omit<DueListing, "listing"> {
  const checkedMs = verdict?.checkedAtMs ?? Number.NEGATIVE_INFINITY;
  const startedMs = attempt?.startedMs ?? Number.NEGATIVE_INFINITY;
  const lastMs = Math.max(checkedMs, startedMs);
  if (lastMs === Number.NEGATIVE_INFINITY) return { atMs: 0, reason: "unchecked" };
  if (suspectSinceMs !== undefined && suspectSinceMs > lastMs) {
    return { atMs: suspectSinceMs, reason: "suspect" };
  }
  const retryMs = lastMs + intervalMs / RETRY_PARTS;
  // A run without a recorded verdict may have cost money, so it is not repeated at once.
  const isLost = attempt?.isRecorded === false && startedMs > checkedMs;
  if (isLost || verdict === undefined) return { atMs: retryMs, reason: "retry" };
  const isSame =
    verdict.manifestSha256 === listing.manifestSha256 &&
    verdict.upstreamModelId === listing.upstreamModelId;
  if (!isSame) return { atMs: 0, reason: "changed" };
  if (!verdict.isConclusive) return { atMs: retryMs, reason: "retry" };
  return { atMs: nextRunMs(listing, lastMs, intervalMs), reason: "interval" };
}

/**
 * Returns the time of the listing's next regular run. Its phase follows from the listing's name
 * alone, so it survives restarts and spreads listings first checked together. If the time is too
 * soon after the last run, half an interval is added. It is at most one interval after the last
 * run.
 */
export function nextRunMs(listing: ListingName, lastMs: number, intervalMs: number): number {
  assert(intervalMs > 0, "an interval takes time");
  const phaseMs = computePhase(listing) * intervalMs;
  const ownMs = (Math.floor((lastMs - phaseMs) / intervalMs) + 1) * intervalMs + phaseMs;
  const isEarly = ownMs - lastMs < intervalMs / EARLIEST_PARTS;
  // The minimum also absorbs rounding errors in `ownMs`.
  return Math.min(isEarly ? ownMs + intervalMs / 2 : ownMs, lastMs + intervalMs);
}

/** A fraction in [0, 1) that spreads the runs over an interval; the same in every process. */
function computePhase(listing: ListingName): number {
  const hash = createHash("sha256").update(listingKey(listing)).digest();
  return hash.readUInt32BE(0) / HASH_VALUES;
}
