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
    /** False: it is under way, its process died, or its verdict could not be recorded. */
    readonly isRecorded: boolean;
  };
  /** Absent: live traffic shows nothing bad. */
  readonly suspectSinceMs?: number;
}

/**
 * Why a listing is to be checked:
 * - `unchecked`: it never was;
 * - `suspect`: live answers broke its promises since its last run;
 * - `changed`: its last run was of another manifest or upstream id;
 * - `retry`: its last run had no result;
 * - `interval`: its last run becomes too old.
 */
export type DueReason = "unchecked" | "suspect" | "changed" | "retry" | "interval";

/** When a listing is to be checked, and why. */
export interface DueListing<L extends ListingName = ListingName> {
  readonly listing: L;
  /** In the past: now. */
  readonly atMs: number;
  readonly reason: DueReason;
}

/** A run without a result is repeated after this part of the interval. */
const RETRY_PARTS = 7;
/** A run may come so much earlier than an interval after the last one, to come at its own time. */
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
  // A run that kills its process is not repeated at once: it may have cost money.
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
 * When a listing is checked again: at its own time, which comes once in every interval and which no
 * restart changes, so that listings that were checked together are spread over the interval. Never
 * later than an interval after the last run; where its own time comes too early after that, half an
 * interval behind it, once.
 */
export function nextRunMs(listing: ListingName, lastMs: number, intervalMs: number): number {
  assert(intervalMs > 0, "an interval takes time");
  const phaseMs = computePhase(listing) * intervalMs;
  const ownMs = (Math.floor((lastMs - phaseMs) / intervalMs) + 1) * intervalMs + phaseMs;
  const isEarly = ownMs - lastMs < intervalMs / EARLIEST_PARTS;
  // Rounding of so large a sum must not make it later.
  return Math.min(isEarly ? ownMs + intervalMs / 2 : ownMs, lastMs + intervalMs);
}

/** From 0 to 1, the same in every process. */
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
  /** The cost of the watched runs of the last interval; those without an end count with their budgets. */
  readonly spentMicroUsd: MicroUsd;
}

/**
 * - `recorded`: its verdict is stored;
 * - `unrecorded`: it has none;
 * - `ended`: by the operator, and the listing is as due as it was.
 */
export type WatchedRunOutcome = "recorded" | "unrecorded" | "ended";
