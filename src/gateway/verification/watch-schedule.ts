import { createHash } from "node:crypto";

import { assert, type MicroUsd } from "../../kernel/index.ts";
import { listingKey, type ListingName } from "./verdict-store.ts";
import type { VerifiedListing } from "./verification.ts";

/** The runs of one listing. */
export interface KnownRuns {
  /** The newest verdict, an inconclusive one included. */
  readonly verdict?: {
    readonly upstreamModelId: string;
    readonly manifestSha256: string;
    readonly isConclusive: boolean;
    readonly checkedAtMs: number;
  };
  /** The newest run of a watch; those that an operator ended do not count. */
  readonly attempt?: {
    readonly startedMs: number;
    /** False if it is running, its process died, or its verdict could not be recorded. */
    readonly isRecorded: boolean;
  };
  /** Absent if the listing is not suspect. */
  readonly suspectSinceMs?: number;
}

/**
 * The reason to check a listing:
 * - `unchecked`: it never was;
 * - `suspect`: live answers broke its promises since its last run;
 * - `changed`: its last run was of another manifest or upstream id;
 * - `retry`: its last run had no result;
 * - `interval`: its last run becomes too old.
 */
export type DueReason = "unchecked" | "suspect" | "changed" | "retry" | "interval";

/** The due time of a listing, and the reason. */
export interface DueListing<L extends ListingName = ListingName> {
  readonly listing: L;
  /** In milliseconds; a time in the past means now. */
  readonly atMs: number;
  readonly reason: DueReason;
}

/** A run without a result is repeated after one seventh of the interval. */
const RETRY_PARTS = 7;
/** The least time between two runs, as a part of the interval (a quarter). */
const EARLIEST_PARTS = 4;
const HASH_VALUES = 2 ** 32;

/** Sorts all of these listings by their due time, earliest first. */
export function dueListings<L extends VerifiedListing>(
  listings: readonly L[],
  known: ReadonlyMap<string, KnownRuns>,
  intervalMs: number,
): readonly DueListing<L>[] {
  const dues = listings.map((listing) => {
    const { atMs, reason } = computeDue(listing, known.get(listingKey(listing)) ?? {}, intervalMs);
    return { listing, atMs, reason };
  });
  // Runs that are due at once are ordered by their own times, which mixes providers.
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
  // A run that ended with its process is not repeated at once, because it may have cost money.
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
 * Returns the time of the next check: the listing's own time, which comes once in every interval
 * and does not depend on restarts, so that listings that were checked together are spread over the
 * interval. If that is too early after the last run, it is half an interval later, once. Never
 * later than an interval after the last run.
 */
export function nextRunMs(listing: ListingName, lastMs: number, intervalMs: number): number {
  assert(intervalMs > 0, "an interval takes time");
  const phaseMs = computePhase(listing) * intervalMs;
  const ownMs = (Math.floor((lastMs - phaseMs) / intervalMs) + 1) * intervalMs + phaseMs;
  const isEarly = ownMs - lastMs < intervalMs / EARLIEST_PARTS;
  // The minimum also absorbs rounding errors of so large a sum.
  return Math.min(isEarly ? ownMs + intervalMs / 2 : ownMs, lastMs + intervalMs);
}

/** Returns a fraction from 0 to 1, the same in every process. */
function computePhase(listing: ListingName): number {
  const hash = createHash("sha256").update(listingKey(listing)).digest();
  return hash.readUInt32BE(0) / HASH_VALUES;
}

/** The database's record of the runs of an installation. */
export interface WatchState {
  /** By the clock of the database, as every other time here. */
  readonly nowMs: number;
  /** By the key of the listing. */
  readonly known: ReadonlyMap<string, KnownRuns>;
  /** The cost of the watched runs of the last interval; runs without an end count their budgets. */
  readonly spentMicroUsd: MicroUsd;
}

/**
 * - `recorded`: its verdict is stored;
 * - `unrecorded`: it has none;
 * - `ended`: the operator ended it, and the listing is as due as before.
 */
export type WatchedRunOutcome = "recorded" | "unrecorded" | "ended";
