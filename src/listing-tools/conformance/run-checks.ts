import type { Check } from "./checks/check.ts";
import { type CheckId, type CheckReport, type Finding, skipped } from "./report/finding.ts";
import type { Lab } from "./probing/lab.ts";
import { ProbeNotSent } from "./probing/observation.ts";

export interface CheckRun {
  readonly checks: readonly Check[];
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
  /** The part of a report that may leave the run. */
  readonly shown: (report: CheckReport) => CheckReport;
  readonly onEnd: (report: CheckReport) => void;
}

/**
 * Runs the checks of one model, one after another, and answers in the order of their numbers. C1
 * comes first: of an endpoint that is not reached, nothing else is asked. C7 comes last: it judges
 * every answer that the others have seen.
 */
export async function runChecks(lab: Lab, run: CheckRun): Promise<readonly CheckReport[]> {
  const reports = new Map<CheckId, CheckReport>();
  let unreachable: string | undefined;
  for (const check of inRunningOrder(run.checks)) {
    const startedMs = run.nowMs();
    const finding =
      unreachable === undefined ? await findingOf(check, lab, run.signal) : skipped(unreachable);
    const report = run.shown({
      id: check.id,
      title: check.title,
      ...finding,
      durationMs: Math.round(run.nowMs() - startedMs),
    });
    if (check.id === "C1" && (finding.isUnreachable === true || finding.status === "error")) {
      unreachable = "the endpoint gives no usable answer (C1)";
    }
    reports.set(check.id, report);
    run.onEnd(report);
  }
  return run.checks.flatMap(({ id }) => reports.get(id) ?? []);
}

function inRunningOrder(checks: readonly Check[]): readonly Check[] {
  return [...checks.filter(({ id }) => id !== "C7"), ...checks.filter(({ id }) => id === "C7")];
}

async function findingOf(
  check: Check,
  lab: Lab,
  signal: AbortSignal,
): Promise<Finding & { readonly isUnasked?: boolean }> {
  const reason = check.inapplicable(lab.deployment);
  if (reason !== undefined) return skipped(reason);
  if (signal.aborted) return { ...skipped("the run was ended"), isUnasked: true };
  try {
    return await check.run(lab);
  } catch (fault) {
    if (!(fault instanceof ProbeNotSent)) throw fault;
    return { status: fault.status, message: fault.message, isUnasked: fault.status === "skip" };
  }
}
