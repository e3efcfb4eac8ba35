import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import type { Command } from "commander";

import { type Backend, openDayArchive, openExportKey } from "../app/index.ts";
import { type ChangedBy, formatUsd, publicKeyText } from "../kernel/index.ts";
import {
  type Day,
  dayFiles,
  readManifest,
  type RetentionSession,
  type RetentionStore,
  retireDays,
  type RetireOutcome,
  verifyExport,
} from "../ledger/index.ts";
import {
  CONFIG_OPTION,
  JSON_OPTION,
  PUBLIC_KEY_OPTION,
  answerChecks,
  answering,
  onStoredData,
  readConfig,
  UsageFault,
  type CommandAnswer,
  type Flags,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { readTrustedKey } from "./ledger-audit-command.ts";
import { readText, readWhole } from "./read-flags.ts";
import { withBackend } from "./with-backend.ts";

const DAYS = { min: 1, max: 999_999 };
const LOCK_TRIES_MAX = 10;
const LOCK_PAUSE_MS = 500;

export function addRetireCommands(ledger: Command, context: CommandContext): void {
  onStoredData(ledger.command("retire"))
    .description("export days of the journal that are old enough, signed, and take them out of it")
    .option("--older-than-days <n>", "whole days, at least 1 (default retention.attempts_days)")
    .option("--out <folder>", "folder of the exports (default retired in the data folder)")
    .option("--drop", "delete what was exported from the database, earlier runs' days too")
    .action(answering(context, (flags: Flags) => retire(context, flags)));
  ledger
    .command("verify-export")
    .description("prove an exported day: its signature, its key and every row; exit 1 when off")
    .argument("<file>", "the day's manifest, attempt-YYYY-MM-DD.json")
    .option(...PUBLIC_KEY_OPTION)
    .option("--data <folder>", "folder of the installation's own key (default ./data)")
    .option(...CONFIG_OPTION)
    .option(...JSON_OPTION)
    .action(answering(context, (file: string, flags: Flags) => verify(context, file, flags)));
}

async function retire(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const config = readConfig(context, flags);
  const olderThanDays = readWhole(flags, "older-than-days", DAYS) ?? config.retentionAttemptsDays;
  if (olderThanDays === 0) {
    const text = "nothing is retired: retention.attempts_days is 0, which keeps all";
    const gone = { retired: [], refused_requests: 0, past_spend_days: 0, dropped: [] };
    const nothing = { ...gone, kept: [], stopped: null };
    return { json: { ok: true, ...nothing }, text };
  }
  const archive = openDayArchive(config, readText(flags, "out"));
  return await withBackend(context, flags, async ({ retentionStore, statementClosing }, by) => {
    const progress = (line: string): void => void context.stderr.write(`${line}\n`);
    const stopAt = await closeStatements(statementClosing, progress);
    const key = openExportKey(config);
    const session = await openSession(retentionStore, by);
    try {
      const deps = { session, archive, key, progress };
      const drop = flags["drop"] === true;
      const outcome = await retireDays(deps, { olderThanDays, drop, stopAt });
      const publicKey = publicKeyText(key.publicKey);
      return renderAnswer(outcome, { folder: archive.folder, publicKey, olderThanDays });
    } finally {
      await session.close();
    }
  });
}

/** Opens the session. Tries repeatedly, because a run that was just killed may hold its lock. */
async function openSession(store: RetentionStore, by: ChangedBy): Promise<RetentionSession> {
  for (let tried = 0; tried < LOCK_TRIES_MAX; tried++) {
    if (tried > 0) await sleep(LOCK_PAUSE_MS);
    const session = await store.open(by);
    if (session !== undefined) return session;
  }
  throw new UsageFault("another ledger retire is under way; wait for its end");
}

/**
 * Closes the monthly statements that are due, because a statement lists the requests of its month
 * one by one, and a retired day has only their sum. Returns the first day that must not be retired,
 * if a statement is still open: another process is closing it, or closing it failed.
 */
async function closeStatements(
  closing: Backend["statementClosing"],
  progress: (line: string) => void,
): Promise<{ readonly day: Day; readonly reason: string } | undefined> {
  for (let hasMore = true; hasMore;) {
    const piece = await closing.closeSome();
    for (const { orgId, month, fault } of piece.failed) {
      const why = fault instanceof Error ? fault.message : String(fault);
      progress(`the statement of ${orgId} for ${month} could not be closed: ${why}`);
    }
    ({ hasMore } = piece);
  }
  const month = await closing.oldestOpen();
  if (month === undefined) return undefined;
  const reason =
    `the monthly statements of ${month} are not all closed yet, and need its requests; ` +
    "run this again later (those that failed are in the progress or in the gateway's log)";
  return { day: `${month}-01` as Day, reason };
}

function renderAnswer(
  outcome: RetireOutcome,
  run: { readonly folder: string; readonly publicKey: string; readonly olderThanDays: number },
): CommandAnswer {
  const { retired, refusedRequests, pastSpendDays, dropped, kept, stopped } = outcome;
  const ok = stopped === undefined && kept.length === 0;
  return {
    json: {
      ok,
      older_than_days: run.olderThanDays,
      folder: run.folder,
      public_key: run.publicKey,
      retired: retired.map(({ day, sums }) => ({
        day,
        attempts: Number(sums.all.attempts),
        debit_usd: formatUsd(sums.all.debitMicroUsd),
        file: dayFiles(day).rows,
      })),
      refused_requests: refusedRequests,
      past_spend_days: pastSpendDays,
      dropped,
      kept,
      stopped: stopped ?? null,
    },
    text: [
      `${retired.length} days retired to ${run.folder}, ${dropped.length} dropped`,
      ...kept.map(({ day, reason }) => `not dropped: ${day}: ${reason}`),
      ...(stopped === undefined ? [] : [`stopped at ${stopped.day}: ${stopped.reason}`]),
    ].join("\n"),
    exitCode: ok ? 0 : 1,
  };
}

async function verify(context: CommandContext, file: string, flags: Flags): Promise<CommandAnswer> {
  const config = readConfig(context, flags);
  const trustedKey = readTrustedKey(config, flags);
  const read = readManifest(readFileSync(file, "utf8"));
  if (!read.ok) return answerChecks([{ id: "manifest", ok: false, detail: read.problem }]);
  const manifest = read.document;
  const { day } = manifest;
  if (basename(file) !== dayFiles(day).manifest) {
    throw new UsageFault(`${file}: this is the manifest of ${day}, under another name`);
  }
  const rows = openDayArchive(config, dirname(file)).readPublished(day);
  const checks = await verifyExport({ manifest, rows, trustedKey });
  return answerChecks(checks, { day, public_key: publicKeyText(manifest.publicKey) });
}
