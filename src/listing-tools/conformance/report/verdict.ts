import type { CheckId, CheckStatus } from "./finding.ts";

/** `inconclusive`: no check failed, but some probes could not be sent, or measured nothing. */
export type Verdict = "pass" | "warn" | "fail" | "inconclusive";

/** `staged`: the manifest has listings, but offers none of them yet. */
export type ProviderVerdict = Verdict | "staged";

export interface JudgedCheck {
  readonly id: CheckId;
  readonly status: CheckStatus;
  /** True if the check applies, but a part of it was not sent, or measured nothing. */
  readonly isUnasked?: boolean;
}

/** C12 checks stability, which no listing promises, so its failure only warns. */
const WARNING_ONLY: CheckId = "C12";

/** `fail` if the provider breaks a promise of the listing in any check but C12. */
export function modelVerdict(checks: readonly JudgedCheck[]): Verdict {
  const isBroken = ({ id, status }: JudgedCheck): boolean =>
    status === "fail" && id !== WARNING_ONLY;
  if (checks.some(isBroken)) return "fail";
  const isUnknown = ({ status, isUnasked }: JudgedCheck): boolean =>
    status === "error" || isUnasked === true;
  if (checks.some(isUnknown)) return "inconclusive";
  if (checks.every(({ status }) => status === "skip")) return "inconclusive";
  return checks.some(({ status }) => status === "warn" || status === "fail") ? "warn" : "pass";
}

/** The worst verdict of the models that are offered; staged models do not count. */
export function providerVerdict(
  models: readonly { readonly ready: boolean; readonly verdict: Verdict }[],
): ProviderVerdict {
  const ready = models.filter((model) => model.ready);
  if (ready.length === 0) return models.length === 0 ? "inconclusive" : "staged";
  return WORST_FIRST.find((each) => ready.some(({ verdict }) => verdict === each)) ?? "pass";
}

const WORST_FIRST: readonly Verdict[] = ["fail", "inconclusive", "warn", "pass"];

/** 0: all pass, warn or are staged. 1: a listing fails. 2: inconclusive. 3: invalid manifest. */
export type ConformanceExit = 0 | 1 | 2 | 3;

export function toExitCode(verdict: ProviderVerdict): ConformanceExit {
  if (verdict === "fail") return 1;
  return verdict === "inconclusive" ? 2 : 0;
}
