import type { ChangedBy } from "../changes/index.ts";
import type { ListingName } from "./listing-name.ts";

/** One check of a recorded run, as the report of the run has it. */
export interface RecordedCheck {
  readonly id: string;
  readonly status: "pass" | "warn" | "fail" | "skip" | "error";
  readonly title: string;
  readonly message: string;
  readonly ms: number;
  /** Small values, no keys, no prompts. */
  readonly evidence?: unknown;
}

/** What a conformance run found of one listing. */
export interface ListingVerdict extends ListingName {
  readonly upstreamModelId: string;
  /** SHA-256 of the manifest that was tested, hexadecimal. */
  readonly manifestSha256: string;
  readonly verdict: "pass" | "warn" | "fail" | "inconclusive";
  readonly checkedAtMs: number;
  /** `run`: on this installation; `import`: a signed report; `watch`: the scheduled one. */
  readonly source: "run" | "import" | "watch";
  readonly checks: readonly RecordedCheck[];
}

/** Answers of live traffic that broke a promise of the listing, out of so many. */
export interface LiveBreaches {
  readonly answers: number;
  readonly substituted: number;
  readonly usageMissing: number;
  /** Impossible, or in contradiction to itself. */
  readonly usageImpossible: number;
  readonly boundExceeded: number;
  readonly wrongFinish: number;
  readonly unreadable: number;
}

export interface SuspectListing extends ListingName {
  readonly sinceMs: number;
  readonly breaches: LiveBreaches;
}

/** Where verdicts are kept, for all processes of an installation. */
export interface VerdictStore {
  /** Records all of these or none. Repeating it changes nothing; a pass ends a suspicion. */
  record(verdicts: readonly ListingVerdict[], by: ChangedBy): Promise<void>;
  /** The newest conclusive verdict of each listing, or an inconclusive one where it is the only. */
  latest(): Promise<readonly ListingVerdict[]>;
  /** Of one listing, newest first, at most 20. */
  history(listing: ListingName): Promise<readonly ListingVerdict[]>;
  suspects(): Promise<readonly SuspectListing[]>;
  /** Keeps the first finding: a listing that is suspect already stays as it was. */
  suspect(listing: ListingName, breaches: LiveBreaches): Promise<void>;
}
