import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  chownSync,
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Static, Type } from "typebox";

import { EMBEDDED_CONNECTIONS_KEPT, EMBEDDED_CONNECTIONS_MAX } from "../core/constants.ts";
import { conforms } from "../json/check-schema.ts";
import { tryParse } from "../json/json-edit.ts";
import { type EmbeddedBinaries, embeddedEnvironment } from "./embedded-binaries.ts";
import { DATABASE_NAME } from "./embedded-database.ts";
import type { EmbeddedHome } from "./embedded-home.ts";
import {
  hostIdentity,
  identifyProcess,
  isAlive,
  isPidAlive,
  findWorkingFolder,
  readOptional,
} from "./process-identity.ts";

const READY_WAIT_MS = 60_000;
const STOP_WAIT_MS = 60_000;
const POLL_MS = 25;
const LOG_BYTES_MAX = 16 * 1024 * 1024;

export interface ServerProcess {
  readonly pid: number;
  readonly port: number;
  /** `starting`: not ready yet, for example while it replays its write-ahead log after a crash. */
  readonly state: "starting" | "ready" | "stopping";
}

/** Returns the running server of this home, if any. It is cheap, as it reads three small files. */
export function findServer(home: EmbeddedHome): ServerProcess | undefined {
  const file = readPidFile(home);
  return file !== undefined && isRunning(file.pid) && isOwnPostmaster(home, file.pid)
    ? file
    : undefined;
}

/** Creates the files of an empty database. If initdb fails, removes what it wrote and throws. */
export function initialize(home: EmbeddedHome, binaries: EmbeddedBinaries, password: string): void {
  const passwordFile = join(home.cluster, "..", "initial-password");
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (home.user !== undefined) chownSync(passwordFile, home.user.uid, home.user.gid);
  const result = spawnSync(
    binaries.initdb,
    [
      `--pgdata=${home.cluster}`,
      `--username=${DATABASE_NAME}`,
      `--pwfile=${passwordFile}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      "--locale=C",
      "--no-instructions",
    ],
    { ...home.user, cwd: "/", env: embeddedEnvironment(), encoding: "utf8" },
  );
  rmSync(passwordFile, { force: true });
  if (result.status === 0) return;
  // The next start would take an incomplete cluster for a database.
  emptyCluster(home);
  throw new Error(`initdb failed: ${result.stderr}`, { cause: result.error });
}

export function emptyCluster(home: EmbeddedHome): void {
  for (const name of readdirSync(home.cluster)) {
    rmSync(join(home.cluster, name), { recursive: true, force: true });
  }
}

export interface LaunchOptions {
  readonly binaries: EmbeddedBinaries;
  readonly port: number;
  /** Aborting stops a server that is not ready yet. */
  readonly signal: AbortSignal;
  /** Settings for this start only. They override the usual ones. */
  readonly settings?: Readonly<Record<string, string>>;
  /** How long to wait until the server is ready; a minute if absent. */
  readonly readyWaitMs?: number;
}

/** Starts the server, detached from this process. Returns undefined once ready, or why it ended. */
export async function launch(
  home: EmbeddedHome,
  options: LaunchOptions,
): Promise<string | undefined> {
  dropStalePidFile(home);
  // A pid file of an earlier server says nothing about the new server, even if the pid is the same.
  const stale = pidFileMark(home);
  const logPath = join(home.folder, "postgres.log");
  const child = spawnServer(home, options, logPath);
  if (child.pid !== undefined) noteOwner(home, child.pid);
  let failure: string | undefined;
  child.once("error", (error) => (failure = error.message));
  child.unref();
  let isAbandoned = false;
  const { readyWaitMs = READY_WAIT_MS } = options;
  for (let waitedMs = 0; waitedMs < readyWaitMs; waitedMs += POLL_MS) {
    const file = pidFileMark(home) === stale ? undefined : readPidFile(home);
    if (file?.pid === child.pid && file?.state === "ready") return undefined;
    if (child.exitCode !== null || child.signalCode !== null) return lastLines(logPath);
    if (failure !== undefined) return failure;
    if (options.signal.aborted && !isAbandoned) isAbandoned = child.kill("SIGINT");
    await sleep(POLL_MS);
  }
  // The server is left running: it may be replaying a long log, and the next start finds it.
  throw new Error(`the embedded PostgreSQL is not ready yet; see ${logPath}, then start again`);
}

/** Requests a "fast" shutdown, which ends all sessions and makes a checkpoint. Does not wait. */
export function interruptServer(server: ServerProcess): void {
  try {
    process.kill(server.pid, "SIGINT");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Stops the server of this home, if there is one, and waits for its end. Throws after a minute. */
export async function stopServer(home: EmbeddedHome): Promise<void> {
  const server = findServer(home);
  if (server === undefined) return;
  interruptServer(server);
  for (let waitedMs = 0; waitedMs < STOP_WAIT_MS; waitedMs += POLL_MS) {
    if (!isRunning(server.pid)) return;
    await sleep(POLL_MS);
  }
  throw new Error(`the embedded PostgreSQL (process ${server.pid}) did not stop`);
}

function spawnServer(home: EmbeddedHome, options: LaunchOptions, logPath: string): ChildProcess {
  const isLong = existsSync(logPath) && statSync(logPath).size > LOG_BYTES_MAX;
  const logFile = openSync(logPath, isLong ? "w" : "a", 0o600);
  const own = { ...settings(options.port), ...options.settings };
  const args = ["-D", home.cluster, ...toArguments(own)];
  // Ctrl-C on the terminal must not stop the server before the gateway has settled its requests.
  const child = spawn(options.binaries.postgres, args, {
    ...home.user,
    cwd: "/",
    detached: true,
    stdio: ["ignore", logFile, logFile],
    env: embeddedEnvironment(),
  });
  closeSync(logFile);
  return child;
}

function settings(port: number): Record<string, string> {
  return {
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: "",
    max_connections: String(EMBEDDED_CONNECTIONS_MAX),
    superuser_reserved_connections: String(EMBEDDED_CONNECTIONS_KEPT),
    password_encryption: "scram-sha-256",
    fsync: "on",
    synchronous_commit: "on",
    full_page_writes: "on",
    // Limits the write-ahead log kept for a hung backup, which could otherwise fill the disk.
    max_slot_wal_keep_size: "16GB",
    timezone: "UTC",
    log_timezone: "UTC",
    log_min_messages: "warning",
    // PostgreSQL must not log the text of failing statements, which may contain private data; the
    // gateway itself reports which statement failed.
    log_min_error_statement: "panic",
    jit: "off",
  };
}

function toArguments(values: Readonly<Record<string, string>>): string[] {
  return Object.entries(values).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

/** Sets the superuser's password while no server runs: a restored database has an unknown one. */
export function resetPassword(
  home: EmbeddedHome,
  { binaries, port }: Pick<LaunchOptions, "binaries" | "port">,
  password: string,
): void {
  const args = ["--single", "-D", home.cluster, ...toArguments(settings(port)), DATABASE_NAME];
  const result = spawnSync(binaries.postgres, args, {
    ...home.user,
    cwd: "/",
    env: embeddedEnvironment(),
    input: `alter role ${DATABASE_NAME} password '${password}';\n`,
    encoding: "utf8",
  });
  if (result.status === 0 && !/\b(?:ERROR|FATAL|PANIC):/.test(result.stderr)) return;
  throw new Error("the password of the restored database could not be set", {
    cause: result.error ?? new Error(result.stderr),
  });
}

function readPidFile(home: EmbeddedHome): ServerProcess | undefined {
  const lines = readOptional(join(home.cluster, "postmaster.pid"))?.split("\n");
  if (lines === undefined) return undefined;
  const said = lines[7]?.trim();
  const state = said === "ready" || said === "stopping" ? said : "starting";
  return { pid: Number(lines[0]), port: Number(lines[3]), state };
}

/** Outside Linux this sends signal 0, because an exact check would have to start a program. */
function isRunning(pid: number): boolean {
  if (process.platform === "linux") return isPidAlive(pid);
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * True if the process works in the data folder of this home. In a container, root often sees only
 * the arguments of another user's process. Outside Linux, neither the folder nor the arguments are
 * visible: only a later login shows whether the process is the server of this home.
 */
function isOwnPostmaster(home: EmbeddedHome, pid: number): boolean {
  const folder = findWorkingFolder(pid);
  if (folder !== undefined) return folder === home.cluster;
  return process.platform !== "linux" || commandLine(pid).includes(`\0-D\0${home.cluster}\0`);
}

/** Returns a process's arguments, each ended by NUL; "" if there is no such process. */
function commandLine(pid: number): string {
  return readOptional(`/proc/${pid}/cmdline`) ?? "";
}

/**
 * Removes a pid file whose server is gone. After a reboot or in a new container, its pid may belong
 * to another program: PostgreSQL would refuse to start, or seem ready too early. Because the file
 * prevents a second server, it is removed only on Linux and if no process works in the data folder.
 */
function dropStalePidFile(home: EmbeddedHome): void {
  const file = readPidFile(home);
  if (file === undefined) return;
  const isOther = isRunning(file.pid) && !isOwnPostmaster(home, file.pid);
  const isStale = isOwnerGone(home, file.pid) || isOther;
  if (isStale && !isInUse(home)) rmSync(join(home.cluster, "postmaster.pid"), { force: true });
}

function isInUse(home: EmbeddedHome): boolean {
  if (process.platform !== "linux") return true;
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map(Number).some((pid) => mayWorkIn(home, pid));
}

/** True if the process works in the data folder, or is a PostgreSQL whose folder is not visible. */
function mayWorkIn(home: EmbeddedHome, pid: number): boolean {
  const folder = findWorkingFolder(pid);
  return folder === undefined ? POSTGRES_CALL.test(commandLine(pid)) : folder === home.cluster;
}

const POSTGRES_CALL = /^postgres[:\0]|\/postgres\0/;

/** Returns a text that changes whenever a server writes its pid file. */
function pidFileMark(home: EmbeddedHome): string | undefined {
  const found = statSync(join(home.cluster, "postmaster.pid"), {
    bigint: true,
    throwIfNoEntry: false,
  });
  return found === undefined ? undefined : `${found.ino} ${found.ctimeNs}`;
}

function lastLines(path: string): string {
  return readFileSync(path, "utf8").trimEnd().split("\n").slice(-5).join("; ");
}

/** Identifies the server's process, unlike its pid, which a new container assigns again. */
const serverOwner = Type.Object({ host: Type.String(), process: Type.String() });
type ServerOwner = Static<typeof serverOwner>;
const isOwner = conforms(serverOwner);

function noteOwner(home: EmbeddedHome, pid: number): void {
  const owner: ServerOwner = { host: hostIdentity(), process: identifyProcess(pid) };
  writeFileSync(ownerFile(home), JSON.stringify(owner));
}

/**
 * True if the process that `noteOwner` wrote has ended, or ran under another boot or in another
 * container. False if the file is missing or is about a process with another pid.
 */
function isOwnerGone(home: EmbeddedHome, pid: number): boolean {
  const owner = readOwner(home);
  if (owner === undefined || !owner.process.startsWith(`${pid}-`)) return false;
  return owner.host !== hostIdentity() || !isAlive(owner.process);
}

function readOwner(home: EmbeddedHome): ServerOwner | undefined {
  const owner = tryParse(readOptional(ownerFile(home)) ?? "")?.value;
  return isOwner(owner) ? owner : undefined;
}

function ownerFile(home: EmbeddedHome): string {
  return join(home.folder, "server-owner");
}
