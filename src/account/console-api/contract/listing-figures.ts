import { type Static, Type } from "typebox";

import { Count, Fields, Id, Instant, nullable, oneOf, reads } from "./shared.ts";

const Share = nullable(Type.Number({ minimum: 0, maximum: 1 }));

const FIGURES = {
  /** Successful calls divided by the calls that succeeded or that the provider failed. */
  success: Share,
  uptime: Share,
  /** Time to the first token, measured on streamed answers. */
  ttft_p50_ms: nullable(Count),
  ttft_p95_ms: nullable(Count),
  tokens_per_second: nullable(Type.Number({ minimum: 0 })),
} as const;

/** `at` is the start of a UTC day or hour. Days and hours without calls have no entry. */
export const FiguresAt = Type.Object({ at: Instant, ...FIGURES });
export type FiguresAt = Static<typeof FiguresAt>;

export const ListingFigures = Type.Object({
  provider: Type.String(),
  model: Type.String(),
  calls: nullable(Count),
  share_of_calls: Type.Number({ minimum: 0, maximum: 1 }),
  ...FIGURES,
  days: Type.Array(FiguresAt),
  /** The last 48 hours; always empty for figures across organizations. */
  hours: Type.Array(FiguresAt),
});
export type ListingFigures = Static<typeof ListingFigures>;

/** A provider's figures over all listings; they cannot be computed from those of its listings. */
export const ProviderFigures = Type.Omit(ListingFigures, ["model", "calls", "days", "hours"]);
export type ProviderFigures = Static<typeof ProviderFigures>;

const Figured = {
  listings: Type.Array(ListingFigures),
  providers: Type.Array(ProviderFigures),
} as const;

/** In an answer, `days` and `hours` are empty unless the query names a model or a provider. */
const query = Fields({ model: Type.Optional(Id), provider: Type.Optional(Id) });
export type ListingQuery = Static<typeof query>;

export const listingFigureRoutes = {
  "GET /api/console/listing-figures": {
    summary:
      "How listings served the organization's own calls, with history for one model or provider",
    needs: "read",
    gate: "none",
    query,
    answer: Type.Object({ from: Instant, ...Figured }),
  },
  "GET /api/listing-figures.json": {
    summary: "How listings served all organizations together, where the operator shows it",
    access: "public",
    query,
    answer: Type.Object({ is_shown: Type.Boolean(), ...Figured }),
  },
} as const;

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
const Percent = Type.Integer({ minimum: 0, maximum: 100 });

/** Percentages are used, since counts would reveal the traffic of other customers. */
export const Suspicion = Type.Object({
  since: Instant,
  substituted_percent: Percent,
  usage_missing_percent: Percent,
  usage_impossible_percent: Percent,
  bound_exceeded_percent: Percent,
  wrong_finish_percent: Percent,
  unreadable_percent: Percent,
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
    ...reads,
    query: Fields({ provider: Id, model: Id }),
    answer: Type.Object({ runs: Type.Array(ConformanceRun) }),
  },
} as const;
