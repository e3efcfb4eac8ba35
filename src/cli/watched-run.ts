import { runSuite, type Verdict } from "../listing-tools/index.ts";
import { type Backend, readOutbound } from "../app/index.ts";
import { type ChangedBy, type Config, type MicroUsd, ZERO_MICRO_USD } from "../kernel/index.ts";
import type { WatchedRunOutcome, WatchSession } from "../gateway/index.ts";
import { clock } from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { verdictsOf } from "./conformance-verdicts.ts";
import type { WatchedListing } from "./watched-listings.ts";

/** What a watch works with. */
export interface Watch {
  readonly context: CommandContext;
  readonly config: Config;
  readonly backend: Backend;
  readonly by: ChangedBy;
  readonly intervalMs: number;
  readonly budgetMicroUsd: MicroUsd;
  readonly intervalBudgetMicroUsd: MicroUsd;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** What a watched run of one listing found. */
export interface WatchedRun {
  readonly outcome: WatchedRunOutcome;
  readonly spentMicroUsd: MicroUsd;
  /** Absent: it has none. */
  readonly verdict?: Verdict;
  /** `C3 stream shape: why`, for what did not pass. */
  readonly failed: readonly string[];
  readonly problem?: string;
}

/** Checks one listing and stores its verdict; what it costs is noted before and after. */
export async function runWatched(
  watch: Watch,
  session: WatchSession,
  listing: WatchedListing,
): Promise<WatchedRun> {
  const { budgetMicroUsd } = watch;
  const runId = await session.begin(listing, budgetMicroUsd);
  let run: WatchedRun = { outcome: "unrecorded", spentMicroUsd: budgetMicroUsd, failed: [] };
  try {
    run = await checkListing(watch, listing);
  } finally {
    await session.end(runId, run);
  }
  return run;
}

async function checkListing(watch: Watch, listing: WatchedListing): Promise<WatchedRun> {
  const { context, config, backend, by, signal } = watch;
  let spentMicroUsd: MicroUsd = ZERO_MICRO_USD;
  const outcome = await runSuite({
    manifestText: listing.manifestText,
    file: listing.file,
    env: context.env,
    clock,
    allowPrivateUpstreams: config.allowPrivateUpstreams,
    outbound: readOutbound(config),
    decisionsPublicForm: listing.decisionsPublicForm,
    models: [listing.modelId],
    checks: [],
    budgetMicroUsd: watch.budgetMicroUsd,
    concurrency: 1,
    timeoutMs: watch.timeoutMs,
    signal,
    onProgress: (progress) => {
      spentMicroUsd = progress.spentMicroUsd;
    },
  });
  if (!outcome.ok) {
    const problem = outcome.problems.join("; ");
    return { outcome: "unrecorded", spentMicroUsd, failed: [], problem };
  }
  const { report } = outcome;
  if (!report.is_complete) return { outcome: "ended", spentMicroUsd, failed: [] };
  const verdicts = verdictsOf(report, "watch");
  await backend.verdictStore.record(verdicts, by);
  const checks = report.models.flatMap((model) => model.checks);
  const bad = checks.filter(({ status }) => status !== "pass" && status !== "skip");
  return {
    outcome: verdicts.length > 0 ? "recorded" : "unrecorded",
    spentMicroUsd,
    ...(verdicts[0] && { verdict: verdicts[0].verdict }),
    failed: bad.map(({ id, title, message }) => `${id} ${title}: ${message}`),
  };
}
