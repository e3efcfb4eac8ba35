import type {
  CheckFinding,
  CheckFlaw,
  ConformanceRun,
  ListingTrust,
  Suspicion,
} from "../../api/contract.ts";
import type { Tone } from "../../ui/badge.tsx";

export const TRUST: Readonly<
  Record<ListingTrust["state"], { word: string; tone: Tone; meaning: string }>
> = {
  verified: {
    word: "Verified",
    tone: "ok",
    meaning: "The latest conformance run passed with this manifest and model.",
  },
  verified_in_part: {
    word: "Verified in part",
    tone: "warn",
    meaning: "The latest conformance run passed but for its warnings.",
  },
  failed: {
    word: "Failed",
    tone: "bad",
    meaning: "The latest conformance run found that the listing breaks its promises.",
  },
  changed: {
    word: "Changed",
    tone: "warn",
    meaning: "A run passed, but the provider has changed its manifest or its model since.",
  },
  expired: {
    word: "Expired",
    tone: "warn",
    meaning: "A run passed, but too long ago to count.",
  },
  unchecked: {
    word: "Unchecked",
    tone: "quiet",
    meaning: "No conformance run has finished yet.",
  },
};

export const CHECK_STATUS: Readonly<Record<CheckFinding["status"], { word: string; tone: Tone }>> =
  {
    pass: { word: "passed", tone: "ok" },
    warn: { word: "warning", tone: "warn" },
    fail: { word: "failed", tone: "bad" },
    skip: { word: "not applicable", tone: "quiet" },
    error: { word: "not answered", tone: "warn" },
  };

export const RUN_VERDICT: Readonly<
  Record<ConformanceRun["verdict"], { word: string; tone: Tone }>
> = {
  pass: { word: "Passed", tone: "ok" },
  warn: { word: "Passed with warnings", tone: "warn" },
  fail: { word: "Failed", tone: "bad" },
  inconclusive: { word: "Inconclusive", tone: "quiet" },
};

export const RUN_SOURCE: Readonly<Record<ConformanceRun["source"], string>> = {
  run: "a run by the operator",
  import: "a signed report",
  watch: "a scheduled run",
};

export function checkName({ id, title }: Pick<CheckFlaw, "id" | "title">): string {
  return `${id} ${title}`;
}

/** Such as `"C7 no silent substitution: failed"`. */
export function checkLabel(check: Pick<CheckFlaw, "id" | "title" | "status">): string {
  return `${checkName(check)}: ${CHECK_STATUS[check.status].word}`;
}

export function checkIds(listings: readonly Pick<ListingTrust, "checks">[]): readonly string[] {
  const ids = new Set(listings.flatMap(({ checks }) => checks.map(({ id }) => id)));
  return [...ids].sort((a, b) => Number(a.slice(1)) - Number(b.slice(1)));
}

/** Lists what makes a listing suspect, such as `"5% named another model"`. */
export function breachLines(suspicion: Suspicion): readonly string[] {
  return BREACHES.filter(([name]) => suspicion[name] > 0).map(
    ([name, what]) => `${suspicion[name]}% ${what}`,
  );
}

const BREACHES = [
  ["substituted_percent", "named another model"],
  ["usage_missing_percent", "reported no usage"],
  ["usage_impossible_percent", "reported impossible usage"],
  ["bound_exceeded_percent", "exceeded the output limit"],
  ["wrong_finish_percent", "had a missing or wrong finish reason"],
  ["unreadable_percent", "could not be read"],
] as const;

export type TrustCount = ReturnType<typeof countTrust>;

export function countTrust(listings: readonly ListingTrust[], provider: string) {
  const own = listings.filter((each) => each.provider === provider);
  const overbilled = own.map((each) => each.overbilled_percent ?? 0);
  return {
    listed: own.length,
    verified: own.filter(({ state }) => state === "verified").length,
    failed: own.filter(({ state }) => state === "failed").length,
    suspect: own.filter(({ suspect }) => suspect !== null).length,
    /** Percentage by which the worst listing overbills; null if none does. */
    overbilledPercent: Math.max(0, ...overbilled) || null,
  };
}

export function overbilledWords(percent: number | null): string | undefined {
  return percent === null ? undefined : `bills ${percent}% too much`;
}

/** A listing's place in the routing order, or `"tried last"` if it failed or is suspect. */
export function orderLabel(place: string | number, trust: ListingTrust | undefined): string {
  const isLast = trust !== undefined && (trust.state === "failed" || trust.suspect !== null);
  return isLast ? "tried last" : String(place);
}

export function trustSentence({ state, verdict, source }: ListingTrust): string {
  const { meaning } = TRUST[state];
  if (verdict === null || source === null) return meaning;
  const note = verdict === "inconclusive" ? "The last run could not complete enough checks. " : "";
  return `${meaning} ${note}Recorded from ${RUN_SOURCE[source]}.`;
}

export function listingToShow(
  listings: readonly ListingTrust[],
  wanted: string | undefined,
): ListingTrust | undefined {
  return (
    listings.find(({ model }) => model === wanted) ??
    listings.find(({ state }) => state === "failed") ??
    listings.find(({ suspect }) => suspect !== null) ??
    listings[0]
  );
}
