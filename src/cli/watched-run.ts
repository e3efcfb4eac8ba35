import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { runSuite, type SuiteOptions, type Verdict } from "../listing-tools/index.ts";
import {
  type Backend,
  type CatalogSources,
  listJsonFiles,
  loadCatalog,
  renderIssue,
} from "../app/index.ts";
import {
  type ChangedBy,
  type Config,
  formatUsd,
  instantOrNull,
  type MicroUsd,
  ZERO_MICRO_USD,
} from "../kernel/index.ts";
import type {
  DueListing,
  VerifiedListing,
  WatchedRunOutcome,
  WatchSession,
} from "../gateway/index.ts";
import { clock, type CommandContext, type CommandIo } from "./command-context.ts";
import { isFlaw, modelSuite, toVerdicts } from "./conformance-run.ts";
import type { Deployment, KeyOwners } from "../catalog/index.ts";

/** A listing that customers can reach, with the manifest against which it is checked. */
export interface WatchedListing extends VerifiedListing {
  readonly file: string;
  readonly manifestText: string;
  /** True if the server sends this listing decision requests in the provider's public format. */
  readonly decisionsPublicForm: boolean;
}

export type WatchedListings =
  | {
      readonly ok: true;
      readonly listings: readonly WatchedListing[];
      readonly keyOwners: KeyOwners;
    }
  | { readonly ok: false; readonly problems: readonly string[] };

/** The listings that a server would route now, and private ones whose key is set. */
export function watchedListings(
  env: CommandIo["env"],
  config: Config,
  more: Pick<CatalogSources, "fileProblems" | "keyOwners"> = {},
): WatchedListings {
  const loaded = loadCatalog({ ...config, env, ...more, clock });
  if (!loaded.ok) {
    return { ok: false, problems: loaded.issues.map(renderIssue) };
  }
  const manifests = readManifests(config.manifestsDir);
  const reachable = loaded.catalog.deployments.filter((each) => isReachable(each, env));
  const listings = reachable.flatMap((deployment): WatchedListing[] => {
    const { providerId, modelId, upstreamModelId, manifestSha256 } = deployment;
    const manifest = manifests.get(manifestSha256);
    // The file changed between the two reads. `conformance watch` reads it again at its next step.
    if (manifest === undefined) return [];
    const decisionsPublicForm = deployment.decisions?.form === "public";
    const ids = { providerId, modelId, upstreamModelId, manifestSha256 };
    return [{ ...ids, decisionsPublicForm, ...manifest }];
  });
  return { ok: true, listings, keyOwners: loaded.keyOwners };
}

function isReachable({ notReady, apiKeyEnv }: Deployment, env: CommandIo["env"]): boolean {
  const hasKey = apiKeyEnv === undefined || (env[apiKeyEnv] ?? "") !== "";
  return notReady === undefined || (notReady === "private" && hasKey);
}

type ManifestOnDisk = Pick<WatchedListing, "file" | "manifestText">;

function readManifests(folder: string): ReadonlyMap<string, ManifestOnDisk> {
  return new Map(
    listJsonFiles(folder).map((file) => {
      const manifestText = readFileSync(join(folder, file), "utf8");
      return [createHash("sha256").update(manifestText).digest("hex"), { file, manifestText }];
    }),
  );
}

export interface Watch extends Pick<SuiteOptions, "budgetMicroUsd" | "timeoutMs" | "signal"> {
  readonly context: CommandContext;
  readonly config: Config;
  readonly backend: Backend;
  readonly by: ChangedBy;
  readonly log: WatchLog;
  readonly intervalMs: number;
  readonly intervalBudgetMicroUsd: MicroUsd;
}

interface WatchedRun {
  readonly outcome: WatchedRunOutcome;
  readonly spentMicroUsd: MicroUsd;
  readonly verdict?: Verdict;
  /** One line for each check that warned, failed or had an error: `C3 stream shape: why`. */
  readonly failed: readonly string[];
  readonly problem?: string;
}

/** Books the whole budget as spent before the run, and replaces it by the actual cost later. */
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
  const { context, config, backend, by, budgetMicroUsd, timeoutMs, signal } = watch;
  const { modelId, manifestText, file, decisionsPublicForm } = listing;
  let spentMicroUsd: MicroUsd = ZERO_MICRO_USD;
  const outcome = await runSuite({
    ...modelSuite(context, config, modelId),
    manifestText,
    file,
    decisionsPublicForm,
    budgetMicroUsd,
    timeoutMs,
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
  const verdicts = toVerdicts(report, "watch");
  await backend.verdictStore.record(verdicts, by);
  const checks = report.models.flatMap((model) => model.checks);
  return {
    outcome: verdicts.length > 0 ? "recorded" : "unrecorded",
    spentMicroUsd,
    ...(verdicts[0] && { verdict: verdicts[0].verdict }),
    failed: checks.filter(isFlaw).map(({ id, title, message }) => `${id} ${title}: ${message}`),
  };
}

interface IntervalSpending {
  readonly intervalMicroUsd: MicroUsd;
  readonly intervalBudgetMicroUsd: MicroUsd;
}

/** The output of `conformance watch`: text or a JSON document for each run and each new state. */
export class WatchLog {
  readonly #output: NodeJS.WritableStream;
  readonly #isJson: boolean;
  #lastState = "";
  #runs = 0;
  #failed = 0;

  constructor(output: NodeJS.WritableStream, isJson: boolean) {
    this.#output = output;
    this.#isJson = isJson;
  }

  ran(
    { listing, reason }: DueListing<WatchedListing>,
    run: WatchedRun,
    left: number,
    spending: IntervalSpending,
  ): void {
    this.#runs += 1;
    if (run.verdict === "fail") this.#failed += 1;
    const { providerId, modelId } = listing;
    const { verdict = "none", failed, problem, outcome } = run;
    const why = [...failed, ...(problem === undefined ? [] : [problem])];
    const cost = formatUsd(run.spentMicroUsd);
    this.#lastState = "";
    this.#write(
      {
        event: "run",
        provider: providerId,
        model: modelId,
        reason,
        verdict,
        recorded: outcome === "recorded",
        failed,
        ...(problem !== undefined && { problem }),
        spend_usd: cost,
        ...spendingJson(spending),
        due: left,
      },
      `${providerId}/${modelId} (${reason}): ${verdict}, $${cost}${why.map((each) => `\n  ${each}`).join("")}\n` +
        `${spendingText(spending)}, ${left} more due`,
    );
  }

  waiting(listings: number, nextMs: number | undefined, spending: IntervalSpending): void {
    const next = instantOrNull(nextMs);
    this.#writeState(
      { event: "waiting", listings, next_at: next, ...spendingJson(spending) },
      next === null
        ? "there is no listing to check"
        : `nothing is due; the next of ${listings} listings is due at ${next}; ${spendingText(spending)}`,
    );
  }

  overBudget(due: number, spending: IntervalSpending): void {
    this.#writeState(
      { event: "over_budget", due, ...spendingJson(spending) },
      `${due} listings are due and wait: ${spendingText(spending)}; raise --interval-budget-usd, or lower --budget-usd`,
    );
  }

  problem(message: string): void {
    this.#writeState({ event: "problem", message }, message);
  }

  ended(): { readonly json: object; readonly text: string } {
    return {
      json: { event: "ended", runs: this.#runs, failed: this.#failed },
      text: `ended after ${this.#runs} runs, of which ${this.#failed} failed`,
    };
  }

  #writeState(json: object, text: string): void {
    if (text === this.#lastState) return;
    this.#lastState = text;
    this.#write(json, text);
  }

  #write(json: object, text: string): void {
    this.#output.write(`${this.#isJson ? JSON.stringify(json) : text}\n`);
  }
}

function spendingJson({ intervalMicroUsd, intervalBudgetMicroUsd }: IntervalSpending): object {
  return {
    interval_spend_usd: formatUsd(intervalMicroUsd),
    interval_budget_usd: formatUsd(intervalBudgetMicroUsd),
  };
}

function spendingText({ intervalMicroUsd, intervalBudgetMicroUsd }: IntervalSpending): string {
  return `$${formatUsd(intervalMicroUsd)} of $${formatUsd(intervalBudgetMicroUsd)} spent in the interval`;
}
