import { availableParallelism } from "node:os";
import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import type { Command } from "commander";

import {
  type AuditCheck,
  type AuditOutcome,
  type AuditProgress,
  type Day,
  dayFiles,
  readManifest,
  type RetentionSession,
  type RetentionStore,
  retireDays,
  type RetireOutcome,
  StuckAttempts,
  verifyExport,
} from "../ledger/index.ts";
import {
  answerChecks,
  answering,
  clock,
  type CommandAnswer,
  type CommandContext,
  type Flags,
  onStoredData,
  OPTIONS,
  pickTexts,
  progressTo,
  readConfig,
  readDay,
  readText,
  readWhole,
  UsageFault,
} from "./command-context.ts";
import { addReopenCommand } from "./ledger-reopen-command.ts";
import { writeOut } from "./replace-file.ts";
import { withBackend } from "./with-backend.ts";
import { type Backend, openDayArchive, openExportKey, readExportKey } from "../app/index.ts";
import {
  type ChangedBy,
  type Config,
  formatUsd,
  publicKeyText,
  toReason,
} from "../kernel/index.ts";

export function addLedgerCommand(program: Command, context: CommandContext): void {
  const ledger = program.command("ledger").description("check and recover the ledger");
  addAuditCommand(ledger, context);
  onStoredData(ledger.command("recover"))
    .description("close attempts that dead instances left open, each once, at its reserved amount")
    .action(answering(context, recover));
  addReopenCommand(ledger, context);
  onStoredData(ledger.command("export"))
    .description("write the attempts and transfers of a day that is over, one JSON document a line")
    .requiredOption("--day <day>", "YYYY-MM-DD, UTC")
    .option("--out <file>", "a new file instead of standard output")
    .action(answering(context, exportDay));
  addRetireCommands(ledger, context);
}

async function recover(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  return await withBackend(context, flags, async ({ ledgerBatchStore, changeLog }, by) => {
    const instances = await ledgerBatchStore.takeOverDeadInstances();
    const stuck: Record<string, string> = {};
    const recovered = await ledgerBatchStore.recoverOpenAttempts(
      new StuckAttempts((attemptId, fault) => {
        stuck[String(attemptId)] = toReason(fault);
      }),
    );
    // The ledger has already committed the closed attempts, batch by batch. This entry in the
    // change log is about the command as a whole.
    const after = { attempts: recovered, instances };
    await changeLog.write(by, async (_client, note) => {
      if (recovered === 0 && instances.length === 0) return;
      const what = { orgId: null, target: "open attempts", before: null, after };
      note({ action: "ledger.recover", ...what });
    });
    const left = Object.entries(stuck);
    return {
      json: { recovered, instances, stuck },
      text: [
        `${recovered} attempts of ${instances.length} dead instances closed`,
        ...left.map(([id, why]) => `attempt ${id} breaks a rule of the books: ${why}`),
        ...(left.length === 0 ? [] : ["run `tokenmarket ledger audit`, which says what is wrong"]),
      ].join("\n"),
      exitCode: left.length === 0 ? 0 : 1,
    };
  });
}

async function exportDay(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  return await withBackend(context, flags, async (backend) => {
    const day = readDay(String(flags["day"]), "--day");
    const { out } = pickTexts(flags);
    let lines = 0;
    const counted = async function* (): AsyncGenerator<string> {
      for await (const page of backend.dayFacts(day)) {
        lines += page.split("\n").length - 1;
        yield page;
      }
    };
    if (out === undefined && flags["json"] === true) throw new UsageFault("--json goes with --out");
    await writeOut(context, out, counted());
    if (out === undefined) return { json: undefined, text: "" };
    return { json: { day, lines, file: out }, text: `${lines} lines of ${day} written to ${out}` };
  });
}

const JOBS = { min: 1, max: 8 };
/** Few, so that most of the database's connections are left to the gateways. */
const JOBS_DEFAULT_MAX = 4;
const PROGRESS_LINES = 250_000;
const MS_PER_DAY = 86_400_000;

function addAuditCommand(ledger: Command, context: CommandContext): void {
  onStoredData(ledger.command("audit"))
    .description(
      "verify the books while the server runs: check every invariant, rebuild every account from its transfers, replay the journal, from the last closed day on; exit 1 when they differ",
    )
    .option("--full", "prove everything, and every closed day")
    .option(
      "--close-day [day]",
      "then sign the balances at the end of a day (YYYY-MM-DD, UTC; default yesterday), where later audits begin",
    )
    .option("--jobs <n>", "connections at a time, 1 to 8 (default the cores, at most 4)")
    .option(...OPTIONS.publicKey)
    .action(answering(context, audit));
}

async function audit(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const config = readConfig(context, flags);
  const day = dayToClose(flags);
  const options = {
    isFull: flags["full"] === true,
    trustedKey: readTrustedKey(config, flags),
    jobs: readWhole(flags, "jobs", JOBS) ?? Math.min(availableParallelism(), JOBS_DEFAULT_MAX),
    onProgress: auditProgressTo(context),
  };
  return await withBackend(context, flags, async (backend, by) => {
    if (day === undefined) return renderAudit(context, await backend.auditBooks(options));
    const key = openExportKey(config);
    return renderAudit(context, await backend.closeDay(day, { ...options, key }, by));
  });
}

/** The key of `--public-key`, else this installation's key; undefined if that does not exist. */
function readTrustedKey(config: Config, flags: Flags): ReturnType<typeof readExportKey> {
  const file = readText(flags, "public-key");
  const key = readExportKey(config, file);
  if (file === undefined || key !== undefined) return key;
  throw new UsageFault(`${file}: there is no such file; check --public-key`);
}

function dayToClose(flags: Flags): string | undefined {
  if (flags["closeDay"] === undefined) return undefined;
  const yesterday = new Date(clock.nowMs() - MS_PER_DAY).toISOString().slice(0, 10);
  return readDay(pickTexts(flags)["closeDay"] ?? yesterday, "--close-day");
}

function renderAudit({ stderr }: CommandContext, outcome: AuditOutcome): CommandAnswer {
  const { checks, sinceDay, reason, checkpoint: closed } = outcome;
  const ok = checks.every((check) => check.violations === 0);
  if (reason !== undefined) stderr.write(`everything was read: ${reason}\n`);
  const text = [
    ...checks.flatMap(renderCheck),
    ...(sinceDay === undefined ? [] : [`proven from the end of ${sinceDay} on`]),
    ...(closed === undefined ? [] : [`closed ${closed.day} at position ${closed.position}`]),
  ];
  const end = closed && { closed_day: closed.day, position: String(closed.position) };
  return { json: { ok, since_day: sinceDay ?? null, ...end, checks }, text: text.join("\n") };
}

function renderCheck(check: AuditCheck): readonly string[] {
  const { id, title, violations, examples = [] } = check;
  if (violations === 0) return [`ok      ${id}  ${title}`];
  return [
    `BROKEN  ${id}  ${title}: ${violations}`,
    ...examples.map(({ row, found, expected }) => `        ${row}: ${found}; expected ${expected}`),
  ];
}

function auditProgressTo({ stderr }: CommandContext): (progress: AuditProgress) => void {
  let next = PROGRESS_LINES;
  return ({ replayed, entries }) => {
    if (replayed < next && replayed < entries) return;
    next = replayed + PROGRESS_LINES;
    stderr.write(`replayed ${replayed} of ${entries} journal entries\n`);
  };
}

const DAYS = { min: 1, max: 999_999 };
const LOCK_TRIES_MAX = 10;
const LOCK_PAUSE_MS = 500;

function addRetireCommands(ledger: Command, context: CommandContext): void {
  onStoredData(ledger.command("retire"))
    .description("export days of the journal that are old enough, signed, and take them out of it")
    .option("--older-than-days <n>", "whole days, at least 1 (default retention.attempts_days)")
    .option("--out <folder>", "folder of the exports (default retired in the data folder)")
    .option("--drop", "delete what was exported from the database, earlier runs' days too")
    .action(answering(context, retire));
  ledger
    .command("verify-export")
    .description("prove an exported day: its signature, its key and every row; exit 1 when off")
    .argument("<file>", "the day's manifest, attempt-YYYY-MM-DD.json")
    .option(...OPTIONS.publicKey)
    .option("--data <folder>", "folder of the installation's own key (default ./data)")
    .option(...OPTIONS.config)
    .option(...OPTIONS.json)
    .action(answering(context, verify));
}

async function retire(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const config = readConfig(context, flags);
  const olderThanDays = readWhole(flags, "older-than-days", DAYS) ?? config.retentionAttemptsDays;
  if (olderThanDays === 0) {
    const text = "nothing is retired: retention.attempts_days is 0, which keeps all";
    const gone = { retired: [], refused_requests: 0, past_spend_days: 0, dropped: [] };
    return { json: { ok: true, ...gone, kept: [], stopped: null }, text };
  }
  const archive = openDayArchive(config, readText(flags, "out"));
  return await withBackend(context, flags, async ({ retentionStore, statementClosing }, by) => {
    const progress = progressTo(context);
    const stopAt = await closeStatements(statementClosing, progress);
    const key = openExportKey(config);
    const session = await openSession(retentionStore, by);
    try {
      const deps = { session, archive, key, progress };
      const drop = flags["drop"] === true;
      return renderRetirement(await retireDays(deps, { olderThanDays, drop, stopAt }), {
        older_than_days: olderThanDays,
        folder: archive.folder,
        public_key: publicKeyText(key.publicKey),
      });
    } finally {
      await session.close();
    }
  });
}

/** Opens a session. Retries, because a run that was just killed may still hold the lock. */
async function openSession(store: RetentionStore, by: ChangedBy): Promise<RetentionSession> {
  for (let tried = 0; tried < LOCK_TRIES_MAX; tried++) {
    if (tried > 0) await sleep(LOCK_PAUSE_MS);
    const session = await store.open(by);
    if (session !== undefined) return session;
  }
  throw new UsageFault("another ledger retire is under way; wait for its end");
}

/**
 * Closes the due monthly statements before any day is retired: statements list requests, and a
 * retired day keeps only totals. If a statement stays open, because another process is closing it
 * or closing it failed, returns the first day that must not be retired.
 */
async function closeStatements(
  closing: Backend["statementClosing"],
  progress: (line: string) => void,
): Promise<{ readonly day: Day; readonly reason: string } | undefined> {
  for (let hasMore = true; hasMore;) {
    const piece = await closing.closeSome();
    for (const { orgId, month, fault } of piece.failed) {
      const what = `the statement of ${orgId} for ${month}`;
      progress(`${what} could not be closed: ${toReason(fault)}`);
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

function renderRetirement(
  outcome: RetireOutcome,
  run: {
    readonly older_than_days: number;
    readonly folder: string;
    readonly public_key: string;
  },
): CommandAnswer {
  const { retired, refusedRequests, pastSpendDays, dropped, kept, stopped } = outcome;
  const ok = stopped === undefined && kept.length === 0;
  return {
    json: {
      ok,
      ...run,
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
