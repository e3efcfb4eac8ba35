import {
  CHECK_IDS,
  type CheckStatus,
  type ConformanceReport,
  type SuiteOptions,
  type SuiteProgress,
} from "../listing-tools/index.ts";
import { type Config, formatUsd } from "../kernel/index.ts";
import { clock, type CommandContext } from "./command-context.ts";
import type { ListingVerdict } from "../gateway/index.ts";
import { readAskDeps } from "./with-backend.ts";

/** Shows a line for each check; on a terminal, only for flawed checks, above one progress line. */
export async function showProgress<T>(
  { stderr }: Pick<CommandContext, "stderr">,
  run: (onProgress: (progress: SuiteProgress) => void) => Promise<T>,
): Promise<T> {
  if (stderr.isTTY !== true) {
    return await run((progress) => void stderr.write(`${checkText(progress)}\n`));
  }
  const startedMs = clock.monotonicMs();
  try {
    return await run((progress) => {
      if (isFlaw(progress.check)) stderr.write(`${CLEAR_LINE}${checkText(progress)}\n`);
      stderr.write(`${CLEAR_LINE}${stateText(progress, clock.monotonicMs() - startedMs)}`);
    });
  } finally {
    stderr.write(CLEAR_LINE);
  }
}

/** The options of a run of all checks on one model. */
export function modelSuite(
  { env }: Pick<CommandContext, "env">,
  config: Config,
  modelId: string,
): Omit<SuiteOptions, "manifestText" | "file" | "budgetMicroUsd" | "timeoutMs" | "signal"> {
  return { env, ...readAskDeps(config), models: [modelId], checks: [], concurrency: 1 };
}

export function isFlaw({ status }: { readonly status: CheckStatus }): boolean {
  return status !== "pass" && status !== "skip";
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
 * The verdicts to store: one for each model on which all checks ran, because a few checks do not
 * suffice to judge a listing. None if the run ended early.
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
