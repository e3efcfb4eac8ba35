import type { Check } from "./checks/check.ts";
import { type CheckId, type CheckReport, type Finding, skipped } from "./report/finding.ts";
import type { Lab } from "./probing/lab.ts";
import { ProbeNotSent, toUnsentFinding } from "./probing/observation.ts";

export interface CheckRun {
  readonly checks: readonly Check[];
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
  readonly shown: (report: CheckReport) => CheckReport;
  readonly onEnd: (report: CheckReport) => void;
}

/**
 * C1 runs first: if the endpoint is unusable, the other checks are skipped. The checks that judge
 * every answer are last, to expose a provider that is honest only at first. Reports are in the
 * order of the checks' numbers.
 */
export async function runChecks(lab: Lab, run: CheckRun): Promise<readonly CheckReport[]> {
  const reports = new Map<CheckId, CheckReport>();
  let unreachable: string | undefined;
  for (const check of inRunningOrder(run.checks)) {
    const startedMs = run.nowMs();
    const finding =
      unreachable === undefined ? await runCheck(check, lab, run.signal) : skipped(unreachable);
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

const JUDGE_EVERY_ANSWER: readonly CheckId[] = ["C5", "C9", "C4", "C7"];

function inRunningOrder(checks: readonly Check[]): readonly Check[] {
  return checks.toSorted(
    (one, other) => JUDGE_EVERY_ANSWER.indexOf(one.id) - JUDGE_EVERY_ANSWER.indexOf(other.id),
  );
}

async function runCheck(check: Check, lab: Lab, signal: AbortSignal): Promise<Finding> {
  const { runs, otherwise = "", inapplicable } = check;
  const run = runs[lab.deployment.modality];
  const reason = run === undefined ? otherwise : inapplicable?.(lab.deployment);
  if (run === undefined || reason !== undefined) return skipped(reason ?? "");
  if (signal.aborted) return { ...skipped("the run was ended"), isUnasked: true };
  try {
    return await run(lab);
  } catch (fault) {
    if (!(fault instanceof ProbeNotSent)) throw fault;
    return toUnsentFinding(fault);
  }
}
