/** One provider's listing of one model, by the ids in the provider's manifest. */
export interface ListingName {
  readonly providerId: string;
  readonly modelId: string;
}

/** Returns the key of a listing in maps, which is also the id of its deployment. */
export function listingKey({ providerId, modelId }: ListingName): string {
  return `${providerId}/${modelId}`;
}

export interface RecordedCheck {
  readonly id: string;
  readonly status: "pass" | "warn" | "fail" | "skip" | "error";
  readonly title: string;
  readonly message: string;
  readonly ms: number;
  /** Measured values that support the status; small, without keys or prompts. */
  readonly evidence?: unknown;
}

/** The result of one conformance run for one listing. */
export interface ListingVerdict extends ListingName {
  readonly upstreamModelId: string;
  readonly manifestSha256: string;
  readonly verdict: "pass" | "warn" | "fail" | "inconclusive";
  readonly checkedAtMs: number;
  /** A run on this installation, a signed report that was imported, or a scheduled run. */
  readonly source: "run" | "import" | "watch";
  readonly checks: readonly RecordedCheck[];
}

/** How many of `answers` live answers broke each promise of the listing. */
export interface LiveBreaches {
  readonly answers: number;
  readonly substituted: number;
  readonly usageMissing: number;
  /** Answers with impossible or contradictory usage. */
  readonly usageImpossible: number;
  readonly boundExceeded: number;
  readonly wrongFinish: number;
  readonly unreadable: number;
}

export interface SuspectListing extends ListingName {
  readonly sinceMs: number;
  readonly breaches: LiveBreaches;
}
