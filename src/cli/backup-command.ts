import { join } from "node:path";

import type { Command } from "commander";

import { isDay } from "../core/index.ts";
import { backUpNow, readExportKey } from "../app/index.ts";
import {
  type CopyProgress,
  findBackups,
  type FoundBackup,
  problemOf,
  restoreBackup,
  type RestoreOptions,
  verifyBackup,
} from "../backup/index.ts";
import type { Config } from "../config/index.ts";
import {
  answering,
  clock,
  type CommandAnswer,
  type Flags,
  onStoredData,
  openCommandLogging,
  readConfig,
  UsageFault,
  withBackend,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { readText } from "./number-flags.ts";

const FROM = "folder of the backups, or of one copy (default backup.folder)";
const INSTANT = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?(?:Z|[+-]\d{2}:?\d{2})$/;

/** `backup create`, `backup list`, `backup verify`, `backup restore` */
export function addBackupCommand(program: Command, context: CommandContext): void {
  const backup = program
    .command("backup")
    .description("back up the embedded PostgreSQL, prove a backup, restore one");
  onStoredData(backup.command("create"))
    .description("make a whole copy now, beside running servers")
    .action(answering(context, (flags: Flags) => create(context, flags)));
  onKeptBackups(backup.command("list"))
    .description("list the copies in a folder, the newest last")
    .action(answering(context, (flags: Flags) => list(context, flags)));
  onKeptBackups(backup.command("verify"))
    .description(
      "prove the newest copy: restore it beside, compare its sums, audit the books, read the log behind it; exit 1 when it fails",
    )
    .action(answering(context, (flags: Flags) => verify(context, flags)));
  onKeptBackups(backup.command("restore"))
    .description("restore a backup into an empty data folder")
    .option("--at <time>", "ISO 8601 with a time zone (default: all that was archived)")
    .action(answering(context, (flags: Flags) => restore(context, flags)));
}

function onKeptBackups(command: Command): Command {
  return onStoredData(command)
    .option("--from <folder>", FROM)
    .option("--public-key <file>", "PEM file of the key that is trusted (default this one's own)")
    .option(
      "--any-key",
      "trust the key that a copy names: proves no origin, for when yours is lost",
    );
}

async function create(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const config = readConfig(context, flags);
  return await withBackend(context, flags, async (backend, by) => {
    const onProgress: CopyProgress = ({ files, bytes }) =>
      void context.stderr.write(`copied ${files} files, ${bytes} bytes\n`);
    const { manifest, folder, pruned } = await backUpNow({ config, backend, clock, onProgress });
    const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0);
    const path = join(folder, manifest.name);
    await backend.changeLog.write(by, async (_, note) => {
      const after = { finished_at: manifest.finishedAt, bytes, older_deleted: pruned };
      const what = { orgId: null, target: manifest.name, before: null, after };
      note({ action: "backup.create", ...what });
    });
    return {
      json: { ok: true, folder: path, finished_at: manifest.finishedAt, bytes, deleted: pruned },
      text: `${path}: ${manifest.files.length} files, ${bytes} bytes; older copies deleted: ${pruned}`,
    };
  });
}

async function list(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const config = readConfig(context, flags);
  const trusted = readTrusted(config, flags);
  const found = await findBackups(readFrom(config, flags));
  const rows = found.map((backup) => rowOf(backup, trusted));
  return {
    json: { ok: rows.every(({ problem }) => problem === null), backups: rows },
    text: rows.length === 0 ? "no backups" : rows.map(lineOf).join("\n"),
    exitCode: rows.every(({ problem }) => problem === null) ? 0 : 1,
  };
}

interface BackupRow {
  readonly folder: string;
  readonly finished_at: string | null;
  readonly bytes: number | null;
  readonly schema: string | null;
  readonly verified_at: string | null;
  readonly problem: string | null;
}

function rowOf(backup: FoundBackup, trusted: RestoreOptions["trusted"]): BackupRow {
  const { folder, manifest, verifiedAt } = backup;
  const known = typeof manifest === "string" ? undefined : manifest;
  return {
    folder,
    finished_at: known?.finishedAt ?? null,
    bytes: known?.files.reduce((sum, file) => sum + file.bytes, 0) ?? null,
    schema: known?.schema ?? null,
    verified_at: verifiedAt ?? null,
    problem: problemOf(backup, trusted) ?? null,
  };
}

function lineOf({ folder, finished_at, bytes, verified_at, problem }: BackupRow): string {
  if (problem !== null) return `BROKEN  ${problem}`;
  const proved = verified_at === null ? "never verified" : `verified at ${verified_at}`;
  return `ok      ${folder}  of ${finished_at}, ${bytes} bytes, ${proved}`;
}

async function verify(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const config = readConfig(context, flags);
  const logging = openCommandLogging(context, config, true);
  const { folder, checks } = await verifyBackup({
    from: readFrom(config, flags),
    trusted: readTrusted(config, flags),
    scratchDir: config.dataDir,
    log: logging.log,
    clock,
    onProgress: (line) => void context.stderr.write(`${line}\n`),
  }).finally(() => logging.flush());
  const ok = checks.every((check) => check.ok);
  return {
    json: { ok, folder, checks },
    text: [
      folder,
      ...checks.map(
        ({ id, ok: good, detail }) => `${good ? "ok    " : "BROKEN"}  ${id}  ${detail}`,
      ),
    ].join("\n"),
    exitCode: ok ? 0 : 1,
  };
}

async function restore(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const config = readConfig(context, flags);
  const logging = openCommandLogging(context, config, true);
  const at = readInstant(flags);
  const restored = await restoreBackup({
    from: readFrom(config, flags),
    at: at === undefined ? "end" : { time: at },
    trusted: readTrusted(config, flags),
    dataDir: config.dataDir,
    log: logging.log,
    onProgress: (line) => void context.stderr.write(`${line}\n`),
  }).finally(() => logging.flush());
  const { backup, dataDir, lastCommit, segments, unsignedSegments } = restored;
  const { finishedAt } = backup.manifest;
  return {
    json: {
      ok: true,
      data: dataDir,
      from: backup.folder,
      copy_of: finishedAt,
      last_commit: lastCommit ?? null,
      segments,
      unsigned_segments: unsignedSegments,
    },
    text: [
      `restored ${backup.folder} and ${segments} segments of the log to ${dataDir}`,
      ...(lastCommit === undefined ? [] : [`its last transaction is of ${lastCommit}`]),
      "next: `tokenmarket ledger audit`, then docs/operating/backups.md before you serve",
    ].join("\n"),
  };
}

function readFrom(config: Config, flags: Flags): string {
  const folder = readText(flags, "from") ?? config.backupFolder;
  if (folder !== "") return folder;
  throw new UsageFault("name the folder of the backups with --from, or set backup.folder");
}

function readTrusted(config: Config, flags: Flags): RestoreOptions["trusted"] {
  if (flags["anyKey"] === true) return "own";
  const file = readText(flags, "public-key");
  const key = readExportKey(config, file);
  if (key !== undefined) return key;
  throw new UsageFault(
    file === undefined
      ? "there is no key here to compare signatures with: name it with --public-key, or use --any-key"
      : `${file}: there is no such file; check --public-key`,
  );
}

function readInstant(flags: Flags): string | undefined {
  const text = readText(flags, "at");
  if (text === undefined) return undefined;
  const isReal = isDay(text.slice(0, "YYYY-MM-DD".length)) && !Number.isNaN(Date.parse(text));
  if (INSTANT.test(text) && isReal) return text;
  throw new UsageFault("--at must be a time with its zone, like 2026-11-22T10:15:00Z");
}
