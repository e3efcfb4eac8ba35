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

import { type EmbeddedBinaries, embeddedEnvironment } from "./embedded-binaries.ts";
import { DATABASE_NAME } from "./embedded-database.ts";
import type { EmbeddedHome } from "./embedded-home.ts";
import {
  hostIdentity,
  identifyProcess,
  isAlive,
  isPidAlive,
  findWorkingFolder,
} from "./process-identity.ts";

const READY_WAIT_MS = 60_000;
const STOP_WAIT_MS = 60_000;
const POLL_MS = 25;
const LOG_BYTES_MAX = 16 * 1024 * 1024;

/** The server of a home, as its own file of process number and state shows. */
export interface ServerProcess {
  readonly pid: number;
  readonly port: number;
  /** `starting` covers the replay of its log after a crash. */
  readonly state: "starting" | "ready" | "stopping";
}

/** The living server of this home; undefined when none runs. Cheap: three small files of the system. */
export function findServer(home: EmbeddedHome): ServerProcess | undefined {
  const file = readPidFile(home);
  return file !== undefined && isRunning(file.pid) && isOwnPostmaster(home, file.pid)
    ? file
    : undefined;
}

/** Makes the files of an empty database; a half-made one is removed again. */
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
  // A half-made cluster would be taken for a database at the next start.
  for (const name of readdirSync(home.cluster)) {
    rmSync(join(home.cluster, name), { recursive: true, force: true });
  }
  throw new Error(`initdb failed: ${result.stderr}`, { cause: result.error });
}

export interface LaunchOptions {
  readonly binaries: EmbeddedBinaries;
  readonly port: number;
  /** Ends the wait, and the server that was not ready yet with it. */
  readonly signal: AbortSignal;
  /** The settings of this start alone; they win over the usual ones. */
  readonly settings?: Readonly<Record<string, string>>;
  /** How long it may take until the server is ready; default a minute. */
  readonly readyWaitMs?: number;
}

/** Starts the server in a session of its own; undefined when it is ready, else why it ended. */
export async function launch(
  home: EmbeddedHome,
  options: LaunchOptions,
): Promise<string | undefined> {
  dropStalePidFile(home);
  // Leftovers of an earlier server say nothing about this one, whatever its process number.
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
  // It is not killed: replaying a long log takes its time, and the next start finds it.
  throw new Error(`the embedded PostgreSQL is not ready yet; see ${logPath}, then start again`);
}

/** Asks the server to end its sessions and itself ("fast", with a checkpoint); does not wait. */
export function interruptServer(server: ServerProcess): void {
  try {
    process.kill(server.pid, "SIGINT");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Stops the server of this home, if one runs, and waits for its end. */
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
  // Detached: Ctrl-C on the terminal must not reach it before the gateway has settled.
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
    max_connections: "100",
    password_encryption: "scram-sha-256",
    fsync: "on",
    synchronous_commit: "on",
    full_page_writes: "on",
    timezone: "UTC",
    log_timezone: "UTC",
    log_min_messages: "warning",
    // The gateway names a failing statement itself; a statement may carry what is private.
    log_min_error_statement: "panic",
    jit: "off",
  };
}

function toArguments(values: Readonly<Record<string, string>>): string[] {
  return Object.entries(values).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

/**
 * Gives the role that manages the server a new password, while no server runs: that of a restored
 * database is not in its files. Throws where PostgreSQL refuses.
 */
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
  try {
    const lines = readFileSync(join(home.cluster, "postmaster.pid"), "utf8").split("\n");
    const state = lines[7]?.trim();
    return {
      pid: Number(lines[0]),
      port: Number(lines[3]),
      state: state === "ready" || state === "stopping" ? state : "starting",
    };
  } catch {
    return undefined;
  }
}

/**
 * Elsewhere than on Linux the exact check starts a program, which is too expensive for a monitor.
 */
function isRunning(pid: number): boolean {
  if (process.platform === "linux") return isPidAlive(pid);
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * A PostgreSQL server works in its data folder. Root in a container may often not see that of
 * another user's process, but how it was called; where the system shows neither, the log-in must.
 */
function isOwnPostmaster(home: EmbeddedHome, pid: number): boolean {
  const folder = findWorkingFolder(pid);
  if (folder !== undefined) return folder === home.cluster;
  return process.platform !== "linux" || readCommandLine(pid).includes(`\0-D\0${home.cluster}\0`);
}

/** The arguments a process was called with, each ended by a zero; empty when there is none. */
function readCommandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

/**
 * After a reboot, or in a new container, the number in the file may be another program's, or the
 * next server's: PostgreSQL would refuse to start, or seem ready before it is. The file may go only
 * when no process at all works in the data folder: it keeps a second server from starting.
 */
function dropStalePidFile(home: EmbeddedHome): void {
  const file = readPidFile(home);
  if (file === undefined) return;
  const isStale =
    ownerState(home, file.pid) === "gone" ||
    (isRunning(file.pid) && !isOwnPostmaster(home, file.pid));
  if (isStale && !isInUse(home)) rmSync(join(home.cluster, "postmaster.pid"), { force: true });
}

/** True if a process works in the data folder. */
function isInUse(home: EmbeddedHome): boolean {
  if (process.platform !== "linux") return true;
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map(Number).some((pid) => mayWorkIn(home, pid));
}

/** A PostgreSQL that hides its folder may be a session of this home. */
function mayWorkIn(home: EmbeddedHome, pid: number): boolean {
  const folder = findWorkingFolder(pid);
  return folder === undefined ? POSTGRES_CALL.test(readCommandLine(pid)) : folder === home.cluster;
}

const POSTGRES_CALL = /^postgres[:\0]|\/postgres\0/;

/** Changes whenever a server writes the file; what a dead one left keeps its mark. */
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

/** Whose the server's pid file is: a bare process number is repeated by every new container. */
interface ServerOwner {
  readonly host: string;
  readonly process: string;
}

/** Notes which process the server is, and in which space of process numbers that counts. */
function noteOwner(home: EmbeddedHome, pid: number): void {
  const owner: ServerOwner = { host: hostIdentity(), process: identifyProcess(pid) };
  writeFileSync(ownerFile(home), JSON.stringify(owner));
}

/**
 * The note's state of the process that the pid file names. `gone`: it lived under another boot or
 * in another container, or it has ended here. `unknown`: an earlier version made no note.
 */
function ownerState(home: EmbeddedHome, pid: number): "living" | "gone" | "unknown" {
  const owner = readOwner(home);
  if (owner === undefined || !owner.process.startsWith(`${pid}-`)) return "unknown";
  return owner.host === hostIdentity() && isAlive(owner.process) ? "living" : "gone";
}

function readOwner(home: EmbeddedHome): ServerOwner | undefined {
  try {
    const { host, process } = JSON.parse(readFileSync(ownerFile(home), "utf8")) as ServerOwner;
    return typeof host === "string" && typeof process === "string" ? { host, process } : undefined;
  } catch {
    return undefined;
  }
}

function ownerFile(home: EmbeddedHome): string {
  return join(home.folder, "server-owner");
}
