import { hash } from "node:crypto";

import type { Deployment } from "../../catalog/index.ts";
import { Deadlines, formatUsd, type MicroUsd } from "../../kernel/index.ts";
import { attemptClassifier, type Outbound, UpstreamClient } from "../../upstream/index.ts";
import type { Check } from "./checks/check.ts";
import { CHECKS } from "./checks/index.ts";
import type { CheckId, CheckReport } from "./report/finding.ts";
import { type JobDeps, jobQuestions } from "./probing/job-questions.ts";
import { Chance, Lab, type Send } from "./probing/lab.ts";
import { type ListingsOptions, readListings } from "./read-listings.ts";
import { presentFinding, Redaction } from "./report/redaction.ts";
import { checkLine, type ConformanceReport, type ModelReport } from "./report/report.ts";
import { runChecks } from "./run-checks.ts";
import { type ProbeDeps, sendProbe } from "./probing/send-probe.ts";
import { Spending } from "./probing/spending.ts";
import { modelVerdict, providerVerdict } from "./report/verdict.ts";

export interface SuiteOptions extends ListingsOptions {
  readonly allowPrivateUpstreams: boolean;
  /** Proxies and certificates. Default: direct connections. */
  readonly outbound?: Outbound;
  /** Checks to run; empty means all. */
  readonly checks: readonly CheckId[];
  readonly budgetMicroUsd: MicroUsd;
  readonly concurrency: number;
  readonly timeoutMs: number;
  /** Seed of the run's random values. Default: a random seed. */
  readonly seed?: string;
  /** Milliseconds between two polls of a video job. Default 3000. */
  readonly jobPollMs?: number;
  /** Ends the run early; the report then has the checks that have run. */
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: SuiteProgress) => void;
}

/** Reported when a check ends. `done` and `total` count the checks of all models. */
export interface SuiteProgress {
  readonly modelId: string;
  readonly check: CheckReport;
  readonly done: number;
  readonly total: number;
  readonly spentMicroUsd: MicroUsd;
}

export type SuiteOutcome =
  | { readonly ok: true; readonly report: ConformanceReport }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Default time limit of an answer; video jobs have another limit. */
export const PROBE_TIMEOUT_MS = 60_000;
const WRONG_KEY = "invalid-key-of-a-conformance-run";

/** Checks the chosen models with the key in `env`. Never rejects for what a provider does. */
export async function runSuite(options: SuiteOptions): Promise<SuiteOutcome> {
  const listings = readListings(options);
  if (!listings.ok) return listings;
  const { clock, signal } = options;
  const startedMs = clock.nowMs();
  const clients = openClients(options);
  const run = openRun(options, { clients: clients.probes, models: listings.deployments.length });
  try {
    const models = await inParallel(listings.deployments, options.concurrency, (deployment) =>
      testModel(run, deployment),
    );
    return {
      ok: true,
      report: {
        report_version: "1",
        provider: listings.providerId,
        manifest_sha256: hash("sha256", options.manifestText),
        started_at: new Date(startedMs).toISOString(),
        duration_ms: Math.round(clock.nowMs() - startedMs),
        spend_usd: formatUsd(run.deps.spending.spentMicroUsd),
        is_complete: !signal.aborted,
        verdict: providerVerdict(models),
        models,
      },
    };
  } finally {
    await clients.close();
  }
}

interface Run {
  readonly options: SuiteOptions;
  readonly deps: ProbeDeps & Pick<JobDeps, "upstream">;
  readonly checks: readonly Check[];
  readonly ended: (modelId: string, check: CheckReport) => void;
}

function openRun(
  options: SuiteOptions,
  { clients, models }: { readonly clients: Clients; readonly models: number },
): Run {
  const { clock, signal, timeoutMs, budgetMicroUsd } = options;
  const isAsked = ({ id }: Check): boolean => options.checks.includes(id);
  const checks = options.checks.length === 0 ? CHECKS : CHECKS.filter(isAsked);
  const spending = new Spending(budgetMicroUsd);
  const deadlines = new Deadlines(clock);
  const classify = attemptClassifier(clock);
  const total = models * checks.length;
  let done = 0;
  return {
    options,
    deps: { clock, deadlines, classify, ...clients, spending, timeoutMs, signal },
    checks,
    ended: (modelId, check) => {
      done += 1;
      const { spentMicroUsd } = spending;
      options.onProgress?.({ modelId, check, done, total, spentMicroUsd });
    },
  };
}

async function testModel(run: Run, deployment: Deployment): Promise<ModelReport> {
  const { deps, checks, options } = run;
  const { env, jobPollMs } = options;
  const redaction = new Redaction([env[deployment.apiKeyEnv ?? ""] ?? "", WRONG_KEY]);
  const send: Send = (probe) => {
    redaction.addPrompt(probe.body);
    return sendProbe(deps, deployment, probe);
  };
  const polling = { ...deps, ...(jobPollMs && { pollMs: jobPollMs }) };
  const jobs = deployment.modality === "video" ? jobQuestions(polling, deployment) : undefined;
  const reports = await runChecks(new Lab(deployment, send, jobs, new Chance(options.seed)), {
    checks,
    nowMs: () => deps.clock.monotonicMs(),
    signal: deps.signal,
    shown: (report) => presentFinding(report, redaction),
    onEnd: (check) => run.ended(deployment.modelId, check),
  });
  return {
    id: deployment.modelId,
    upstream_id: deployment.upstreamModelId,
    ready: deployment.notReady !== "staged",
    verdict: modelVerdict(reports),
    checks: reports.map(checkLine),
  };
}

interface Clients {
  readonly upstream: UpstreamClient;
  readonly upstreamWithWrongKey: UpstreamClient;
}

function openClients({ env, allowPrivateUpstreams, outbound }: SuiteOptions): {
  readonly probes: Clients;
  readonly close: () => Promise<void>;
} {
  const by = { allowPrivateUpstreams, ...(outbound && { outbound }) };
  const upstream = new UpstreamClient({ ...by, providerKey: (name) => env[name] });
  const upstreamWithWrongKey = new UpstreamClient({ ...by, providerKey: () => WRONG_KEY });
  return {
    probes: { upstream, upstreamWithWrongKey },
    close: async () => {
      await Promise.all([upstream.close(), upstreamWithWrongKey.close()]);
    },
  };
}

async function inParallel<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) {
      results[index] = await work(items[index] as T);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return results;
}
