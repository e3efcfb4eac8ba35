/** One provider's listing of one model, by the ids of the manifest. */
export interface ListingName {
  readonly providerId: string;
  readonly modelId: string;
}

/** The listing's key in maps, which is also the id of its deployment. */
export function listingKey({ providerId, modelId }: ListingName): string {
  return `${providerId}/${modelId}`;
}

/** One check of a recorded run, as in the run's report. */
export interface RecordedCheck {
  readonly id: string;
  readonly status: "pass" | "warn" | "fail" | "skip" | "error";
  readonly title: string;
  readonly message: string;
  readonly ms: number;
  /** Small values, no keys, no prompts. */
  readonly evidence?: unknown;
}

/** The finding of a conformance run about one listing. */
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

/** Counts of live answers that broke each promise of a listing, out of `answers`. */
export interface LiveBreaches {
  readonly answers: number;
  readonly substituted: number;
  readonly usageMissing: number;
  /** Impossible or contradictory usage. */
  readonly usageImpossible: number;
  readonly boundExceeded: number;
  readonly wrongFinish: number;
  readonly unreadable: number;
}

export interface SuspectListing extends ListingName {
  readonly sinceMs: number;
  readonly breaches: LiveBreaches;
}
