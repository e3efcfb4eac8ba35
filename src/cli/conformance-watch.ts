import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";

import { toExitCode, PROBE_TIMEOUT_MS } from "../listing-tools/index.ts";
import type { KeyOwners } from "../catalog/index.ts";
import { isStoreFault, microUsd, type MicroUsd, toReason } from "../kernel/index.ts";
import { dueListings, type WatchSession } from "../gateway/index.ts";
import {
  answering,
  type CommandAnswer,
  type CommandContext,
  type ExitCode,
  type Flags,
  onStoredData,
  OPTIONS,
  readConfig,
  readDurationMs,
  readText,
  readWhole,
  requireUsd,
  UsageFault,
} from "./command-context.ts";
import { untilSignal } from "./run-to-end.ts";
import {
  runWatched,
  type Watch,
  type WatchedListing,
  type WatchedListings,
  watchedListings,
  WatchLog,
} from "./watched-run.ts";
import { withBackend } from "./with-backend.ts";

const EVERY_RANGE = { min: "1h", max: "30d" };
const EVERY_DEFAULT = "7d";
const INTERVAL_BUDGET_USD_DEFAULT = "20.00";
/** The longest idle wait: manifests can change, and listings can become suspect, at any time. */
const POLL_MS = 30_000;
const BUSY_MS = 1_000;
/** The wait while the database does not answer. */
const AWAY_MS = 10_000;

export function addConformanceWatch(conformance: Command, context: CommandContext): void {
  onProbes(onStoredData(conformance.command("watch")))
    .description(
      "run the checks of every listing once in an interval, one listing at a time, and store the verdicts",
    )
    .option("--every <duration>", "the interval, such as 12h or 7d", EVERY_DEFAULT)
    .option(
      "--interval-budget-usd <amount>",
      "most that all runs of an interval may cost",
      INTERVAL_BUDGET_USD_DEFAULT,
    )
    .option(...OPTIONS.manifests)
    .option(
      "--once",
      "run what is due and end; exit 0: it conforms, 1: a listing does not, 2: not all is known, 3: the manifests are not valid",
    )
    .action(answering(context, watch));
}

async function watch(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const config = readConfig(context, flags);
  const intervalMs = readDurationMs(flags, "every", EVERY_RANGE);
  const budgetMicroUsd = readUsd(flags, "budget-usd");
  const intervalBudgetMicroUsd = readUsd(flags, "interval-budget-usd");
  if (intervalBudgetMicroUsd < budgetMicroUsd) {
    throw new UsageFault("--interval-budget-usd must not be less than --budget-usd");
  }
  const timeoutMs = readTimeoutMs(flags);
  const bounds = { intervalMs, budgetMicroUsd, intervalBudgetMicroUsd, timeoutMs };
  // A signal ends the current run, whose verdict is then not stored.
  return await untilSignal((signal) =>
    withBackend(context, flags, async (backend, by) => {
      const log = new WatchLog(context.stdout, flags["json"] === true);
      const parts = { context, config, backend, by, log, ...bounds, signal };
      const exitCode = await watchUntilEnd(parts, flags["once"] === true);
      return { ...log.ended(), exitCode };
    }),
  );
}

type Step =
  | { readonly kind: "ran"; readonly exitCode: ExitCode }
  /** `isShort`: listings are due, but the interval has less budget left than a run may cost. */
  | { readonly kind: "idle"; readonly waitMs: number; readonly isShort?: boolean }
  | { readonly kind: "busy" | "invalid"; readonly waitMs: number }
  | { readonly kind: "away"; readonly waitMs: number; readonly fault: unknown };

async function watchUntilEnd(parts: Watch, isOnce: boolean): Promise<ExitCode> {
  const { signal, log } = parts;
  const codes = new Set<ExitCode>();
  let keyOwners: KeyOwners = new Map();
  while (!signal.aborted) {
    const found = readListings(parts, keyOwners);
    if (found.ok) ({ keyOwners } = found);
    const step = await takeStep(parts, found);
    if (step.kind === "ran") {
      codes.add(step.exitCode);
      continue;
    }
    if (step.kind === "away") {
      if (isOnce) throw step.fault;
      log.problem("the database does not answer; trying again");
    }
    if (isOnce && step.kind === "invalid") return 3;
    if (isOnce && step.kind === "idle") return chooseWorst(codes, step.isShort === true);
    await sleep(step.waitMs, undefined, { signal }).catch(() => undefined);
  }
  return 0;
}

function chooseWorst(codes: ReadonlySet<ExitCode>, isShort: boolean): ExitCode {
  if (codes.has(1)) return 1;
  return isShort || codes.has(2) ? 2 : 0;
}

/** Follows the files of manifests and keys as a server does. */
function readListings(
  { context: { env, secrets }, config }: Watch,
  keyOwners: KeyOwners,
): WatchedListings {
  secrets.use(secrets.read());
  try {
    return watchedListings(env, config, { fileProblems: secrets.problems, keyOwners });
  } catch (fault) {
    // A manifest may vanish between the listing of its folder and its reading.
    const { syscall } = fault as NodeJS.ErrnoException;
    if (syscall === undefined) throw fault;
    return { ok: false, problems: [toReason(fault)] };
  }
}

async function takeStep(parts: Watch, found: WatchedListings): Promise<Step> {
  const { backend, log } = parts;
  if (!found.ok) {
    log.problem(found.problems.join("; "));
    return { kind: "invalid", waitMs: POLL_MS };
  }
  try {
    const session = await backend.watchStore.open();
    if (session === undefined) return { kind: "busy", waitMs: BUSY_MS };
    try {
      return await takeLockedStep(parts, session, found.listings);
    } finally {
      await session.close();
    }
  } catch (fault) {
    if (!isStoreFault(fault)) throw fault;
    return { kind: "away", waitMs: AWAY_MS, fault };
  }
}

/** Checks at most one due listing. The session's lock keeps other processes from checking any. */
async function takeLockedStep(
  parts: Watch,
  session: WatchSession,
  listings: readonly WatchedListing[],
): Promise<Step> {
  const { log, intervalMs, budgetMicroUsd, intervalBudgetMicroUsd } = parts;
  const state = await session.state(intervalMs);
  const dues = dueListings(listings, state.known, intervalMs);
  const due = dues.filter(({ atMs }) => atMs <= state.nowMs);
  const before = { intervalMicroUsd: state.spentMicroUsd, intervalBudgetMicroUsd };
  const [first] = due;
  if (first === undefined) {
    const nextMs = dues[0]?.atMs;
    log.waiting(listings.length, nextMs, before);
    return { kind: "idle", waitMs: Math.min(POLL_MS, (nextMs ?? Infinity) - state.nowMs) };
  }
  if (state.spentMicroUsd + budgetMicroUsd > intervalBudgetMicroUsd) {
    log.overBudget(due.length, before);
    return { kind: "idle", waitMs: POLL_MS, isShort: true };
  }
  const run = await runWatched(parts, session, first.listing);
  // The operator ended the run, so the listing stays due.
  if (run.outcome === "ended") return { kind: "ran", exitCode: 0 };
  const intervalMicroUsd = microUsd(state.spentMicroUsd + run.spentMicroUsd);
  log.ran(first, run, due.length - 1, { intervalMicroUsd, intervalBudgetMicroUsd });
  return { kind: "ran", exitCode: run.verdict === undefined ? 2 : toExitCode(run.verdict) };
}

const PROBE_SECONDS = PROBE_TIMEOUT_MS / 1000;
const BUDGET_USD_DEFAULT = "1.00";

export function onProbes(command: Command): Command {
  return command
    .option("--budget-usd <amount>", "most that a run may cost", BUDGET_USD_DEFAULT)
    .option("--timeout <seconds>", `longest whole answer (default ${PROBE_SECONDS})`);
}

export function readTimeoutMs(flags: Flags): number {
  return 1000 * (readWhole(flags, "timeout", { min: 1, max: 3_600 }) ?? PROBE_SECONDS);
}

export function readUsd(flags: Flags, name: string): MicroUsd {
  return requireUsd(readText(flags, name) ?? "", `--${name}`);
}
