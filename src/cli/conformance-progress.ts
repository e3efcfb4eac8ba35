import type { SuiteProgress } from "../listing-tools/index.ts";
import { formatUsd } from "../kernel/index.ts";
import { clock } from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";

export interface ConformanceProgress {
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
