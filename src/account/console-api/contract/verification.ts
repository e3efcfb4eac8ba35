import { Type, type Static } from "typebox";

import { Id, Instant, nullable, oneOf, Fields } from "./shared.ts";

const CheckStatus = oneOf("pass", "warn", "fail", "skip", "error");
const RunVerdict = oneOf("pass", "warn", "fail", "inconclusive");
const RunSource = oneOf("run", "import", "watch");

/**
 * A check that did not pass. `error`: the tester or the network failed, not the provider; `warn`: a
 * finding too small to fail the listing.
 */
export const CheckFlaw = Type.Object({
  id: Type.String(),
  title: Type.String(),
  status: CheckStatus,
  message: Type.String(),
});
export type CheckFlaw = Static<typeof CheckFlaw>;

export const CheckFinding = Type.Object({
  ...CheckFlaw.properties,
  evidence: Type.Array(Type.Object({ name: Type.String(), value: Type.String() })),
});
export type CheckFinding = Static<typeof CheckFinding>;

/** Whole percent; at least 1 if any answer had the defect. */
const Share = Type.Integer({ minimum: 0, maximum: 100 });

/**
 * The share of the latest live answers that had each defect. Counts instead of shares would reveal
 * the traffic of other customers.
 */
export const Suspicion = Type.Object({
  since: Instant,
  substituted_percent: Share,
  usage_missing_percent: Share,
  usage_impossible_percent: Share,
  bound_exceeded_percent: Share,
  wrong_finish_percent: Share,
  unreadable_percent: Share,
});
export type Suspicion = Static<typeof Suspicion>;

export const TrustState = oneOf(
  "verified",
  "verified_in_part",
  "failed",
  "changed",
  "expired",
  "unchecked",
);

export const ListingTrust = Type.Object({
  provider: Type.String(),
  model: Type.String(),
  /**
   * `verified`: the newest run passed and has not expired; `verified_in_part`: it passed with
   * warnings; `changed`: the listing has changed since it passed; `expired`: it passed too long
   * ago; `unchecked`: no run had a result.
   */
  state: TrustState,
  verdict: nullable(RunVerdict),
  source: nullable(RunSource),
  checked_at: nullable(Instant),
  ends_at: nullable(Instant),
  flaws: Type.Array(CheckFlaw),
  overbilled_percent: nullable(Type.Integer()),
  suspect: nullable(Suspicion),
  checks: Type.Array(CheckFinding),
});
export type ListingTrust = Static<typeof ListingTrust>;

export const ConformanceRun = Type.Object({
  checked_at: Instant,
  verdict: RunVerdict,
  source: RunSource,
  is_current_manifest: Type.Boolean(),
  flaws: Type.Array(CheckFlaw),
});
export type ConformanceRun = Static<typeof ConformanceRun>;

export const verificationRoutes = {
  "GET /api/console/verification": {
    summary: "What conformance runs and live answers say about public listings",
    needs: "read",
    query: Fields({ provider: Type.Optional(Id), model: Type.Optional(Id) }),
    answer: Type.Object({ listings: Type.Array(ListingTrust) }),
  },
  "GET /api/console/verification/runs": {
    summary: "The last 20 conformance runs of one public listing, newest first",
    needs: "read",
    gate: "reads",
    query: Fields({ provider: Id, model: Id }),
    answer: Type.Object({ runs: Type.Array(ConformanceRun) }),
  },
} as const;
