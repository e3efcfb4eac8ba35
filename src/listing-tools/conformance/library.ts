import { parseUsd, systemClock } from "../../kernel/index.ts";
import type { CheckId } from "./report/finding.ts";
import { checkLine, type CheckLine, type ConformanceReport } from "./report/report.ts";
import { PROBE_TIMEOUT_MS, runSuite as runWholeSuite } from "./run-suite.ts";

/**
 * The entry point `tokenmarket/conformance` of the package. Its exported types refer only to types
 * of this file and of the files from which it exports.
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

export interface SuiteOptions {
  readonly manifestText: string;
  /** Environment variables. Only the one with the manifest's provider key is read. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Name of the manifest in the texts of `problems`. Default `manifest.json`. */
  readonly file?: string;
  /** Ids of the models to test; `*` matches any text. Default: all. */
  readonly models?: readonly string[];
  /** Checks to run. Default: all, because a listing is verified only by all of them. */
  readonly checks?: readonly CheckId[];
  /** Budget in USD: no probe is sent whose worst-case cost exceeds what is left. Default `1.00`. */
  readonly budgetUsd?: string;
  /** Number of models that are tested at once. Default 2. */
  readonly concurrency?: number;
  /** Time limit of a whole answer in milliseconds. Default 60,000. */
  readonly timeoutMs?: number;
  /** Allows endpoints with loopback or private addresses. Default false. */
  readonly allowPrivateUpstreams?: boolean;
  /** Sends decisions in the provider's public format. Default: the marketplace's format. */
  readonly decisionsPublicForm?: boolean;
  /** Ends the run early; the report then has the checks that have run. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: SuiteProgress) => void;
}

/** Reported when a check ends. `done` and `total` count the checks of all models. */
export interface SuiteProgress {
  readonly modelId: string;
  readonly check: CheckLine;
  readonly done: number;
  readonly total: number;
}

export type SuiteOutcome =
  | { readonly ok: true; readonly report: ConformanceReport }
  /** `problems`: the manifest is invalid, its key is missing, or it has no model to test. */
  | { readonly ok: false; readonly problems: readonly string[] };

/** Checks the chosen models. Rejects only for bad options: the report has the provider's faults. */
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
