import { asNumber, asObject, type Clock, Job, type Logger } from "../../kernel/index.ts";
import { listingKey, type ListingName } from "./conduct.ts";
import type { ListingVerdict, SuspectListing, VerdictStore } from "./postgres-verdict-store.ts";

/**
 * By the newest conclusive run:
 * - `verified`: passed, with this manifest and upstream id, within `VERIFIED_FOR_MS`.
 * - `verified_in_part`: likewise, but some checks warned.
 * - `failed`: did not pass.
 * - `changed`: passed, but with another manifest or upstream id.
 * - `expired`: passed, but too long ago.
 * - `unchecked`: there is none.
 */
export type VerificationState =
  "verified" | "verified_in_part" | "failed" | "changed" | "expired" | "unchecked";

export function isPassed(state: VerificationState): boolean {
  return state === "verified" || state === "verified_in_part";
}

export interface ListingVerification {
  readonly state: VerificationState;
  /** The newest conclusive run, or else an inconclusive one; absent if there was no run. */
  readonly verdict?: ListingVerdict;
  /** Set if live answers show that the listing breaks its promises. */
  readonly suspect?: SuspectListing;
}

export interface VerifiedListing extends ListingName {
  readonly upstreamModelId: string;
  readonly manifestSha256: string;
}

export interface KnownListing extends VerifiedListing {
  readonly id: string;
}

const UNCHECKED: ListingVerification = Object.freeze({ state: "unchecked" });
const DAY_MS = 86_400_000;
export const VERIFIED_FOR_MS: number = 30 * DAY_MS;
/** How often verdicts of other processes are read, in milliseconds. */
const REFRESH_MS = 10_000;

export interface VerificationOptions {
  readonly store: Pick<VerdictStore, "latest" | "suspects">;
  readonly clock: Pick<Clock, "nowMs">;
  readonly log: Pick<Logger, "warn">;
  /** Called for each listing that is no longer suspect, because it has passed a run. */
  readonly onCleared?: (listingId: string) => void;
}

/** All listings' verdicts, and the suspect listings, as this process read them last. */
export class Verification {
  readonly #options: VerificationOptions;
  #verdicts: ReadonlyMap<string, ListingVerdict> = new Map();
  #suspects: ReadonlyMap<string, SuspectListing> = new Map();
  readonly #job: Job;

  constructor(options: VerificationOptions) {
    this.#options = options;
    const message = "the verdicts on listings could not be read; the known ones stay";
    this.#job = new Job(
      REFRESH_MS,
      () => this.#read(),
      (fault) => options.log.warn({ err: fault }, message),
    );
  }

  async start(): Promise<void> {
    await this.refresh();
    this.#job.start();
  }

  close(): Promise<void> {
    return this.#job.close();
  }

  /** Never rejects: while the store does not answer, the known verdicts stay. */
  refresh(): Promise<void> {
    return this.#job.runOnce();
  }

  async #read(): Promise<void> {
    const { store, onCleared } = this.#options;
    const [verdicts, suspects] = await Promise.all([store.latest(), store.suspects()]);
    this.#verdicts = new Map(verdicts.map((each) => [listingKey(each), each]));
    const before = this.#suspects;
    this.#suspects = new Map(suspects.map((each) => [listingKey(each), each]));
    for (const id of before.keys()) if (!this.#suspects.has(id)) onCleared?.(id);
  }

  isVerified(listing: KnownListing): boolean {
    const verdict = this.#verdicts.get(listing.id);
    return isPassed(judgeVerdict(verdict, listing, this.#options.clock.nowMs()));
  }

  isSuspect({ id }: Pick<KnownListing, "id">): boolean {
    return this.#suspects.size > 0 && this.#suspects.has(id);
  }

  /** True if the listing is tried last: live answers make it suspect, or its newest run failed. */
  isDistrusted(listing: Pick<KnownListing, "id">): boolean {
    return this.isSuspect(listing) || this.#verdicts.get(listing.id)?.verdict === "fail";
  }

  of(listing: KnownListing): ListingVerification {
    const verdict = this.#verdicts.get(listing.id);
    const suspect = this.#suspects.get(listing.id);
    const state = judgeVerdict(verdict, listing, this.#options.clock.nowMs());
    if (verdict === undefined && suspect === undefined) return UNCHECKED;
    return { state, ...(verdict && { verdict }), ...(suspect && { suspect }) };
  }
}

export function judgeVerdict(
  verdict: ListingVerdict | undefined,
  { upstreamModelId, manifestSha256 }: VerifiedListing,
  nowMs: number,
): VerificationState {
  if (verdict === undefined || verdict.verdict === "inconclusive") return "unchecked";
  if (verdict.verdict === "fail") return "failed";
  const isSame =
    verdict.upstreamModelId === upstreamModelId && verdict.manifestSha256 === manifestSha256;
  if (!isSame) return "changed";
  if (nowMs - verdict.checkedAtMs > VERIFIED_FOR_MS) return "expired";
  return verdict.verdict === "warn" ? "verified_in_part" : "verified";
}

/** The highest percentage that is shown: a signed report of another program could claim more. */
const PERCENT_MAX = 100_000;

/** Percentage by which the newest run was overbilled; null if it was not, or if that is unknown. */
export function overbilledPercent(verdict: ListingVerdict | undefined): number | null {
  const { evidence } = verdict?.checks.find(({ id }) => id === "C4") ?? {};
  const percent = asNumber(asObject(evidence)?.["percent_too_much"]) ?? 0;
  return percent > 0 ? Math.round(Math.min(percent, PERCENT_MAX)) : null;
}
