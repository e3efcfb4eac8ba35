import { randomBytes } from "node:crypto";
import { chownSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Logger } from "../core/index.ts";
import { replaceText } from "./durable-files.ts";
import type { EmbeddedHome } from "./embedded-home.ts";
import { canEnter } from "./embedded-user.ts";

/** Where a server of ours archives its log, for backups. */
export interface EmbeddedArchive {
  /**
   * Of this database alone, below the folder that the operator named; has the base copies too.
   */
  readonly folder: string;
  /**
   * The name of that folder: one database's life, from its making, or its restore, to its end.
   */
  readonly life: string;
  /** Where the server puts each finished segment of its log. */
  readonly wal: string;
}

/** A folder of backups that the database cannot use, and what to do about it. */
class ArchiveFault extends Error {
  override readonly name = "ArchiveFault";
}

/** At most this much is lost with the machine, when there is anything to lose. */
const ARCHIVE_TIMEOUT_S = 60;
const FOLDER_MODE = 0o700;

/**
 * Has every later start of this home archive below `root`; empty: none does. The choice is noted
 * in the home, so that a command which knows no settings leaves no hole in the log.
 */
export async function chooseArchive(home: EmbeddedHome, root: string, log: Logger): Promise<void> {
  const noted = readArchive(home);
  if (root === "") {
    if (noted === undefined) return;
    log.warn({ folder: noted.folder }, "backup.folder is not set any more: nothing is backed up");
    return forgetArchive(home);
  }
  const life = noted?.life ?? randomBytes(6).toString("hex");
  const archive = archiveAt(resolve(root), life);
  try {
    makeFolders(home, archive);
  } catch (fault) {
    // A folder that is away for a while must not keep the gateway from starting: the server tries
    // again by itself, and what is not archived is counted.
    if (noted?.folder !== archive.folder) throw fault;
    log.error({ err: fault, folder: archive.folder }, "the folder of the backups is out of reach");
  }
  // A note that a crash has cut would begin a new life: the copies of this one are not found then.
  if (noted?.folder === archive.folder) return;
  await replaceText(noteFile(home), JSON.stringify({ root: resolve(root), life }));
}

/** What was chosen last; undefined: nothing is archived. */
export function readArchive(home: EmbeddedHome): EmbeddedArchive | undefined {
  try {
    const note: unknown = JSON.parse(readFileSync(noteFile(home), "utf8"));
    const { root, life } = note as { readonly root?: unknown; readonly life?: unknown };
    return typeof root === "string" && typeof life === "string" ? archiveAt(root, life) : undefined;
  } catch {
    return undefined;
  }
}

/** A later start that names a folder begins a new life. */
export function forgetArchive(home: EmbeddedHome): void {
  rmSync(noteFile(home), { force: true });
}

/** What the server is started with for it. */
export function archiveSettings(home: EmbeddedHome): Readonly<Record<string, string>> {
  const archive = readArchive(home);
  if (archive === undefined) return {};
  return {
    archive_mode: "on",
    archive_library: "basic_archive",
    "basic_archive.archive_directory": archive.wal,
    archive_timeout: `${ARCHIVE_TIMEOUT_S}s`,
  };
}

/** Notes what the server that is being started archives to. */
export function noteLaunchedArchive(home: EmbeddedHome): void {
  writeFileSync(launchFile(home), readArchive(home)?.wal ?? "");
}

/** Was the running server started before the choice? It cannot change where it archives to. */
export function isArchiveOutdated(home: EmbeddedHome): boolean {
  let launched = "";
  try {
    launched = readFileSync(launchFile(home), "utf8");
  } catch {
    // A server of an earlier version, which archives nothing.
  }
  return launched !== (readArchive(home)?.wal ?? "");
}

function archiveAt(root: string, life: string): EmbeddedArchive {
  const folder = join(root, life);
  return { folder, life, wal: join(folder, "wal") };
}

/** The database's user writes there, and what this process makes belongs to it. */
function makeFolders({ user }: EmbeddedHome, { wal }: EmbeddedArchive): void {
  const first = mkdirSync(wal, { recursive: true, mode: FOLDER_MODE });
  if (user === undefined) return;
  if (first !== undefined) {
    for (let path = wal; path.length >= first.length; path = dirname(path)) {
      chownSync(path, user.uid, user.gid);
    }
  }
  if (canEnter(user, wal)) return;
  throw new ArchiveFault(
    `backup.folder: the user of the embedded PostgreSQL (${user.uid}) cannot enter ${wal}; give the ` +
      "folders above it the right to be entered (chmod a+x), or name another folder",
  );
}

function noteFile(home: EmbeddedHome): string {
  return join(home.folder, "archive.json");
}

function launchFile(home: EmbeddedHome): string {
  return join(home.folder, "server-archive");
}
