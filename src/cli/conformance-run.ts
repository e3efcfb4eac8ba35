import { CHECK_IDS, type ConformanceReport, type SuiteProgress } from "../listing-tools/index.ts";
import { formatUsd } from "../kernel/index.ts";
import { clock, type CommandContext } from "./command-context.ts";
import type { ListingVerdict } from "../gateway/index.ts";

interface ConformanceProgress {
  readonly checkEnded: (progress: SuiteProgress) => void;
  readonly end: () => void;
}

/**
 * Shows a run's progress on standard error. A terminal gets one line that is rewritten below the
 * checks that did not pass. Other outputs get one plain line per check.
 */
export function conformanceProgress({
  stderr,
}: Pick<CommandContext, "stderr">): ConformanceProgress {
  const isTerminal = stderr.isTTY === true;
  const startedMs = clock.monotonicMs();
  return {
    checkEnded: (progress) => {
      const line = checkText(progress);
      if (!isTerminal) {
        stderr.write(`${line}\n`);
        return;
      }
      const { status } = progress.check;
      if (status !== "pass" && status !== "skip") stderr.write(`${CLEAR_LINE}${line}\n`);
      stderr.write(`${CLEAR_LINE}${stateText(progress, clock.monotonicMs() - startedMs)}`);
    },
    end: () => {
      if (isTerminal) stderr.write(CLEAR_LINE);
    },
  };
}

const CLEAR_LINE = "\r\u001B[2K";

function checkText({ modelId, check }: SuiteProgress): string {
  return `${check.status.padEnd(5)} ${check.id.padEnd(3)} ${modelId}: ${check.message}`;
}

function stateText(
  { modelId, check, done, total, spentMicroUsd }: SuiteProgress,
  ms: number,
): string {
  const leftSeconds = Math.round(((ms / done) * (total - done)) / 1000);
  return `${done}/${total} checks, $${formatUsd(spentMicroUsd)} spent, about ${leftSeconds} s left (${modelId} ${check.id})`;
}

/**
 * The verdicts of a report that are stored: one for each model on which all checks ran. A run that
 * ended early has none, because a few checks do not suffice to judge a listing.
 */
export function toVerdicts(
  report: ConformanceReport,
  source: ListingVerdict["source"],
): readonly ListingVerdict[] {
  if (!report.is_complete) return [];
  const whole = report.models.filter(({ checks }) => checks.length === CHECK_IDS.length);
  return whole.map(({ id, upstream_id: upstreamModelId, verdict, checks }) => ({
    providerId: report.provider,
    modelId: id,
    upstreamModelId,
    manifestSha256: report.manifest_sha256,
    verdict,
    checkedAtMs: Date.parse(report.started_at),
    source,
    checks,
  }));
}
