import { type Command, Option } from "commander";

import { BackupFault, createBackup, restoreBackup, verifyBackup } from "../app/index.ts";
import {
  answerChecks,
  answering,
  clock,
  type CommandAnswer,
  type CommandContext,
  type Flags,
  onStoredData,
  progressTo,
  readConfig,
} from "./command-context.ts";
import { openCommandLogging, withBackend } from "./with-backend.ts";

export function addBackupCommand(program: Command, context: CommandContext): void {
  const backup = program
    .command("backup")
    .description("back up the embedded PostgreSQL, prove a copy, restore one");
  onStoredData(backup.command("create"))
    .description("make a whole copy now, beside running servers")
    .requiredOption("--to <folder>", "folder that gets the copy, on another disk")
    .action(answering(context, create));
  onStoredData(backup.command("verify"))
    .description(
      "prove a copy: restore it beside, compare its sums, audit the books; exit 1 when it fails",
    )
    .addOption(fromOption())
    .action(answering(context, verify));
  onStoredData(backup.command("restore"))
    .description("restore a copy into an empty data folder")
    .addOption(fromOption())
    .action(answering(context, restore));
}

function fromOption(): Option {
  const description = "one copy, or a folder of copies: the newest is taken";
  return new Option("--from <folder>", description).makeOptionMandatory();
}

async function create(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  return await withBackend(context, flags, async (backend, by) => {
    if (backend.embedded === undefined) {
      throw new BackupFault(
        "DATABASE_URL names a PostgreSQL of yours, which has its own backups; see docs/operating/backups.md",
      );
    }
    const { folder, manifest } = await createBackup(backend.embedded, {
      to: String(flags["to"]),
      clock,
      onProgress: progressTo(context),
    });
    const { files, finished_at } = manifest;
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    await backend.changeLog.write(by, async (_, note) => {
      const after = { finished_at, bytes };
      note({ action: "backup.create", orgId: null, target: folder, before: null, after });
    });
    return {
      json: { ok: true, folder, finished_at, bytes },
      text: `${folder}: ${files.length} files, ${bytes} bytes, of ${finished_at}`,
    };
  });
}

async function verify(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const { folder, checks } = await onCopy(context, flags, (copy) =>
    verifyBackup({ ...copy, scratchDir: copy.dataDir }),
  );
  const answer = answerChecks(checks, { folder });
  return { ...answer, text: `${folder}\n${answer.text}` };
}

async function restore(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const { folder, manifest, dataDir } = await onCopy(context, flags, restoreBackup);
  return {
    json: { ok: true, data: dataDir, from: folder, copy_of: manifest.finished_at },
    text:
      `restored ${folder}, a copy of ${manifest.finished_at}, to ${dataDir}\n` +
      "next: `tokenmarket ledger audit`, then docs/operating/restore.md before you serve",
  };
}

/** Runs `work` on a backup, without opening the stores. */
async function onCopy<T>(
  context: CommandContext,
  flags: Flags,
  work: (copy: Parameters<typeof restoreBackup>[0]) => Promise<T>,
): Promise<T> {
  const config = readConfig(context, flags);
  const { log, ...logging } = openCommandLogging(context, config, true);
  const copy = { from: String(flags["from"]), dataDir: config.dataDir, log };
  return await work({ ...copy, onProgress: progressTo(context) }).finally(() => logging.flush());
}
