import type { Catalog, Deployment } from "../../catalog/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { missing } from "./console-refusal.ts";
import {
  ConformanceRun,
  ListingTrust,
  type verificationRoutes,
} from "./contract/listing-figures.ts";
import type { Handlers } from "./handler.ts";
import { asObject, instant } from "../../kernel/index.ts";
import {
  isPassed,
  type ListingVerdict,
  type ListingVerification,
  overbilledPercent,
  type RecordedCheck,
  type SuspectListing,
  VERIFIED_FOR_MS,
} from "../../gateway/index.ts";
import type { CheckFinding, CheckFlaw, Suspicion } from "./contract.ts";
import { present } from "./present.ts";
import { hostTexts, publicText } from "./public-text.ts";

export function verificationHandlers(deps: ConsoleDeps): Handlers<keyof typeof verificationRoutes> {
  const { catalog, verification, verdicts } = deps;
  return {
    "GET /api/console/verification": async ({ query }) => {
      const hasChecks = query.provider !== undefined;
      const listings = publicListings(catalog.current, query);
      return {
        listings: listings.map((each) => presentTrust(each, verification.of(each), { hasChecks })),
      };
    },

    "GET /api/console/verification/runs": async ({ query }) => {
      const [listing] = publicListings(catalog.current, query);
      if (listing === undefined) return NOT_LISTED;
      const runs = await verdicts.history(listing);
      return { runs: runs.map((run) => presentRun(listing, run)) };
    },
  };
}

const NOT_LISTED = missing(
  "this provider does not list this model; GET /api/catalog.json has the listings",
);

function publicListings(
  { providers }: Catalog,
  { provider, model }: { readonly provider?: string; readonly model?: string },
): readonly Deployment[] {
  return providers
    .filter(({ id }) => provider === undefined || id === provider)
    .flatMap(({ deployments }) => deployments)
    .filter(({ modelId }) => model === undefined || modelId === model);
}

export type JudgedListing = Pick<
  Deployment,
  "providerId" | "modelId" | "baseUrl" | "manifestSha256"
>;

/** Shows buyers how far a listing is trusted: failed checks and why, without addresses or keys. */
export function presentTrust(
  listing: JudgedListing,
  { state, verdict, suspect }: ListingVerification,
  { hasChecks }: { readonly hasChecks: boolean },
): ListingTrust {
  const hidden = hostTexts(listing.baseUrl);
  const counts = isPassed(state) || state === "expired";
  const checks = verdict?.checks ?? [];
  const record = { ...verdict, ...listing, state };
  return present(ListingTrust, record, {
    ends_at:
      verdict !== undefined && counts ? instant(verdict.checkedAtMs + VERIFIED_FOR_MS) : null,
    flaws: listFlaws(checks, hidden),
    overbilled_percent: overbilledPercent(verdict),
    suspect: suspect === undefined ? null : presentSuspicion(suspect),
    checks: hasChecks ? checks.map((each) => presentCheck(each, hidden)) : [],
  });
}

export function presentRun(listing: JudgedListing, run: ListingVerdict): ConformanceRun {
  return present(ConformanceRun, run, {
    is_current_manifest: run.manifestSha256 === listing.manifestSha256,
    flaws: listFlaws(run.checks, hostTexts(listing.baseUrl)),
  });
}

function presentSuspicion({ sinceMs, breaches }: SuspectListing): Suspicion {
  const share = (count: number): number =>
    count === 0 ? 0 : Math.max(1, Math.round((100 * count) / Math.max(count, breaches.answers)));
  return {
    since: instant(sinceMs),
    substituted_percent: share(breaches.substituted),
    usage_missing_percent: share(breaches.usageMissing),
    usage_impossible_percent: share(breaches.usageImpossible),
    bound_exceeded_percent: share(breaches.boundExceeded),
    wrong_finish_percent: share(breaches.wrongFinish),
    unreadable_percent: share(breaches.unreadable),
  };
}

const PASSED: ReadonlySet<RecordedCheck["status"]> = new Set(["pass", "skip"]);

function listFlaws(checks: ListingVerdict["checks"], hidden: readonly string[]): CheckFlaw[] {
  return checks
    .filter(({ status }) => !PASSED.has(status))
    .map((each) => presentFlaw(each, hidden));
}

function presentFlaw(check: RecordedCheck, hidden: readonly string[]): CheckFlaw {
  const { id, status, title, message } = check;
  return { id, title: publicText(title, hidden), status, message: publicText(message, hidden) };
}

function presentCheck(check: RecordedCheck, hidden: readonly string[]): CheckFinding {
  return { ...presentFlaw(check, hidden), evidence: presentEvidence(check.evidence, hidden) };
}

/** Limits the evidence: a report that another program signed may have more than our own checks. */
const EVIDENCE_MAX = 12;

function presentEvidence(evidence: unknown, hidden: readonly string[]): CheckFinding["evidence"] {
  return Object.entries(asObject(evidence) ?? {})
    .map(([name, value]) => [name, valueText(value)] as const)
    .filter((line): line is readonly [string, string] => line[1] !== undefined)
    .slice(0, EVIDENCE_MAX)
    .map(([name, value]) => ({
      name: publicText(name.replaceAll("_", " "), hidden),
      value: publicText(value, hidden),
    }));
}

const LIST_SHOWN_MAX = 20;

function valueText(value: unknown, depth = 0): string | undefined {
  if (value === null) return "none";
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (!Array.isArray(value) || depth > 1) return undefined;
  const parts = value.slice(0, LIST_SHOWN_MAX).map((each: unknown) => valueText(each, depth + 1));
  return parts.filter((part) => part !== undefined).join(", ");
}
