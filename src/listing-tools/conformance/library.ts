import { parseUsd, systemClock } from "../../kernel/index.ts";
import type { CheckId } from "./report/finding.ts";
import { checkLine, type CheckLine, type ConformanceReport } from "./report/report.ts";
import { PROBE_TIMEOUT_MS, runSuite as runWholeSuite } from "./run-suite.ts";

/**
 * The exports of the package as `tokenmarket/conformance`. Its types need no other file than those
 * that are exported here.
 */
export { CHECK_IDS, type CheckId, type CheckStatus, type Evidence } from "./report/finding.ts";
export {
  type CheckLine,
  type ConformanceReport,
  junitReport,
  markdownReport,
  type ModelReport,
} from "./report/report.ts";
export {
  type ReadReport,
  readSignedReport,
  type SignedReport,
  signReport,
} from "./report/signed-report.ts";
export {
  type ConformanceExit,
  toExitCode,
  type ProviderVerdict,
  type Verdict,
} from "./report/verdict.ts";

/** A run of the checks over one manifest. */
export interface SuiteOptions {
  /** The text of the manifest. */
  readonly manifestText: string;
  /** Environment, of which only the variable with the manifest's key is read. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The manifest's name in messages. Default `manifest.json`. */
  readonly file?: string;
  /** Model ids; `*` is any text. Default: all. */
  readonly models?: readonly string[];
  /** Default: all, which is what verifies a listing. */
  readonly checks?: readonly CheckId[];
  /** Most that the run may cost, in dollars. Default `1.00`. */
  readonly budgetUsd?: string;
  /** Models that are tested at once. Default 2. */
  readonly concurrency?: number;
  /** Longest time for a whole answer in milliseconds. Default 60,000. */
  readonly timeoutMs?: number;
  /** Allows endpoints with loopback or private addresses. Default false. */
  readonly allowPrivateUpstreams?: boolean;
  /** Sends decisions in the host's public format. Default: in the marketplace's format. */
  readonly decisionsPublicForm?: boolean;
  /** Ends the run with a report of the checks that have run. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: SuiteProgress) => void;
}

/** A check that has ended, and the progress of the run. */
export interface SuiteProgress {
  readonly modelId: string;
  readonly check: CheckLine;
  readonly done: number;
  readonly total: number;
}

export type SuiteOutcome =
  | { readonly ok: true; readonly report: ConformanceReport }
  /** The manifest is invalid, its key is missing, or no model has the name. */
  | { readonly ok: false; readonly problems: readonly string[] };

/**
 * Checks every listing of a manifest against its provider. Whatever the provider does ends in a
 * report; it throws for options that cannot be used.
 */
export async function runSuite(options: SuiteOptions): Promise<SuiteOutcome> {
  const { budgetUsd = "1.00", concurrency = 2, timeoutMs = PROBE_TIMEOUT_MS, onProgress } = options;
  const budgetMicroUsd = parseUsd(budgetUsd);
  if (budgetMicroUsd === undefined || budgetMicroUsd < 0n) {
    throw new TypeError(`budgetUsd must be an amount such as 1.50, not ${budgetUsd}`);
  }
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw new TypeError(`concurrency must be a whole number above 0, not ${concurrency}`);
  }
  if (!(timeoutMs > 0)) throw new TypeError(`timeoutMs must be above 0, not ${timeoutMs}`);
  return await runWholeSuite({
    manifestText: options.manifestText,
    file: options.file ?? "manifest.json",
    env: options.env,
    clock: systemClock,
    allowPrivateUpstreams: options.allowPrivateUpstreams ?? false,
    decisionsPublicForm: options.decisionsPublicForm ?? false,
    models: options.models ?? [],
    checks: options.checks ?? [],
    budgetMicroUsd,
    concurrency,
    timeoutMs,
    signal: options.signal ?? new AbortController().signal,
    ...(onProgress && {
      onProgress: ({ modelId, check, done, total }) => {
        onProgress({ modelId, check: checkLine(check), done, total });
      },
    }),
  });
}
