import { spawn, spawnSync } from "node:child_process";
import {
  chownSync,
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import type { LedgerLog } from "../../ledger/ledger-log.ts";
import { findEmbeddedBinaries, type EmbeddedBinaries } from "./embedded-binaries.ts";
import {
  addUser,
  hasCluster,
  openEmbeddedHome,
  readOrMakePassword,
  removeUser,
  type EmbeddedHome,
} from "./embedded-home.ts";
import { isPidAlive, workingFolderOf } from "./process-identity.ts";
import { withStartLock } from "./start-lock.ts";

export interface EmbeddedPostgres {
  /** With the password: never print it. */
  readonly connectionString: string;
  /** Where the database really is; not inside the requested folder when that is out of reach. */
  readonly dataDir: string;
  /** False: a running server was found and is shared. */
  readonly started: boolean;
  /** Gives the server back; the last living process that uses it stops it, and waits for that. */
  stop(): Promise<void>;
}

const DATABASE_NAME = "tokenmarket";
const START_TRIES = 5;
const READY_WAIT_MS = 60_000;
const STOP_WAIT_MS = 60_000;
const POLL_MS = 25;
/** Well above the ports that services are known by, well below those of outgoing connections. */
const OWN_PORTS_FROM = 20_000;
const LENT_PORTS_FROM = 32_768;
const PORT_TRIES = 64;
const LOG_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Starts the embedded PostgreSQL of a data folder, or shares the one that runs there already,
 * whoever started it. It listens on loopback only and outlives a kill of this process.
 */
export async function startEmbeddedPostgres(options: {
  readonly dataDir: string;
  readonly log: LedgerLog;
}): Promise<EmbeddedPostgres> {
  const home = openEmbeddedHome(options.dataDir);
  return await withStartLock(home.folder, async () => {
    const password = readOrMakePassword(home);
    const running = await findRunning(home, password);
    const port = running ?? (await startServer(home, password, options.log));
    const user = addUser(home);
    return {
      connectionString: connectionStringOf(password, port, DATABASE_NAME),
      dataDir: home.folder,
      started: running === undefined,
      stop: () =>
        withStartLock(home.folder, async () => {
          if (removeUser(home, user)) await stopServer(home);
        }),
    };
  });
}

/** The port of the live server of this home, proved by a log-in; undefined when none runs. */
async function findRunning(home: EmbeddedHome, password: string): Promise<number | undefined> {
  for (let waitedMs = 0; waitedMs < READY_WAIT_MS; waitedMs += POLL_MS) {
    const file = readPidFile(home);
    if (file === undefined || !isPidAlive(file.pid)) return undefined;
    if (!isPostmasterOf(home, file.pid)) {
      dropForeignPidFile(home);
      return undefined;
    }
    // It may still be replaying its log after a crash, or already be on its way out.
    if (file.ready && (await answers(connectionStringOf(password, file.port, "postgres")))) {
      await ensureDatabase(password, file.port);
      return file.port;
    }
    await sleep(POLL_MS);
  }
  throw new Error(`the PostgreSQL in ${home.cluster} runs but does not answer; see postgres.log`);
}

async function startServer(home: EmbeddedHome, password: string, log: LedgerLog): Promise<number> {
  const binaries = findEmbeddedBinaries(home.user, home.binariesRoot);
  if (!hasCluster(home.folder)) initialize(home, binaries, password);
  let failure = "";
  for (let attempt = 1; attempt <= START_TRIES; attempt++) {
    const port = await pickPort(home, attempt);
    const exit = await launch(home, binaries, port);
    if (exit === undefined) {
      writeFileSync(join(home.folder, "port"), String(port));
      await ensureDatabase(password, port);
      log.info({ dataDir: home.folder, port }, "embedded PostgreSQL started");
      return port;
    }
    // The port was taken meanwhile, or children of a killed server are still leaving.
    failure = exit;
    await sleep(attempt * 200);
  }
  throw new Error(`the embedded PostgreSQL did not start: ${failure}`);
}

function initialize(home: EmbeddedHome, binaries: EmbeddedBinaries, password: string): void {
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
    { ...home.user, cwd: "/", env: { ...process.env, LC_ALL: "C" }, encoding: "utf8" },
  );
  rmSync(passwordFile, { force: true });
  if (result.status === 0) return;
  // A half-made cluster would be taken for a database at the next start.
  for (const name of readdirSync(home.cluster)) {
    rmSync(join(home.cluster, name), { recursive: true, force: true });
  }
  throw new Error(`initdb failed: ${result.stderr}`, { cause: result.error });
}

/** Starts the server in a session of its own; undefined when it is ready, else why it ended. */
async function launch(
  home: EmbeddedHome,
  binaries: EmbeddedBinaries,
  port: number,
): Promise<string | undefined> {
  const logPath = join(home.folder, "postgres.log");
  const isLong = existsSync(logPath) && statSync(logPath).size > LOG_BYTES_MAX;
  const logFile = openSync(logPath, isLong ? "w" : "a", 0o600);
  // Detached: Ctrl-C on the terminal must not reach it before the gateway has settled.
  const child = spawn(binaries.postgres, ["-D", home.cluster, ...settings(port)], {
    ...home.user,
    cwd: "/",
    detached: true,
    stdio: ["ignore", logFile, logFile],
    env: { ...process.env, LC_ALL: "C", TZ: "UTC" },
  });
  closeSync(logFile);
  let failure: string | undefined;
  child.once("error", (error) => (failure = error.message));
  child.unref();
  for (let waitedMs = 0; waitedMs < READY_WAIT_MS; waitedMs += POLL_MS) {
    const file = readPidFile(home);
    if (file?.pid === child.pid && file?.ready === true) return undefined;
    if (child.exitCode !== null || child.signalCode !== null) return lastLines(logPath);
    if (failure !== undefined) return failure;
    await sleep(POLL_MS);
  }
  return "it did not become ready in time";
}

function settings(port: number): string[] {
  const values: Record<string, string> = {
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
  return Object.entries(values).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

async function stopServer(home: EmbeddedHome): Promise<void> {
  const file = readPidFile(home);
  if (file === undefined || !isPidAlive(file.pid) || !isPostmasterOf(home, file.pid)) return;
  process.kill(file.pid, "SIGINT"); // "fast": ends sessions, writes a checkpoint
  for (let waitedMs = 0; waitedMs < STOP_WAIT_MS; waitedMs += POLL_MS) {
    if (!isPidAlive(file.pid)) return;
    await sleep(POLL_MS);
  }
  throw new Error(`the embedded PostgreSQL (process ${file.pid}) did not stop`);
}

interface PidFile {
  readonly pid: number;
  readonly port: number;
  readonly ready: boolean;
}

function readPidFile(home: EmbeddedHome): PidFile | undefined {
  try {
    const lines = readFileSync(join(home.cluster, "postmaster.pid"), "utf8").split("\n");
    return {
      pid: Number(lines[0]),
      port: Number(lines[3]),
      ready: lines[7]?.trim() === "ready",
    };
  } catch {
    return undefined;
  }
}

/** A PostgreSQL server works in its data folder; where the system does not tell, the log-in must. */
function isPostmasterOf(home: EmbeddedHome, pid: number): boolean {
  const folder = workingFolderOf(pid);
  return folder === undefined
    ? process.platform !== "linux"
    : folder === realpathSync(home.cluster);
}

/**
 * After a reboot the number in the file may be another program's, and PostgreSQL would refuse to
 * start. The file may go only when no process at all works in the data folder.
 */
function dropForeignPidFile(home: EmbeddedHome): void {
  const inUse = readdirSync("/proc").some(
    (name) => /^\d+$/.test(name) && isPostmasterOf(home, Number(name)),
  );
  if (!inUse) rmSync(join(home.cluster, "postmaster.pid"), { force: true });
}

/**
 * The port of the last start, so that running programs find the database again; any other only when
 * that one stays taken. Never one that the system lends to outgoing connections: it would be lost to
 * whoever connects anywhere while the server is down, even to a client that knocks at it.
 */
async function pickPort(home: EmbeddedHome, attempt: number): Promise<number> {
  const path = join(home.folder, "port");
  const last = existsSync(path) ? Number(readFileSync(path, "utf8")) : 0;
  if (last > 0 && attempt < START_TRIES) return last;
  const top = lentPortsFrom();
  for (let tries = 0; tries < PORT_TRIES; tries++) {
    const port = await freePort(randomInt(OWN_PORTS_FROM, top));
    if (port !== undefined) return port;
  }
  return (await freePort(0)) ?? 0;
}

/** The first port that the system gives to outgoing connections by itself. */
function lentPortsFrom(): number {
  try {
    const first = Number.parseInt(
      readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8"),
      10,
    );
    return first > OWN_PORTS_FROM + PORT_TRIES ? first : LENT_PORTS_FROM;
  } catch {
    return LENT_PORTS_FROM; // not Linux
  }
}

function freePort(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(undefined));
    server.listen(port, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" ? address?.port : undefined));
    });
  });
}

async function answers(connectionString: string): Promise<boolean> {
  const client = new Client({ connectionString, connectionTimeoutMillis: 2_000 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}

async function ensureDatabase(password: string, port: number): Promise<void> {
  const client = new Client({
    connectionString: connectionStringOf(password, port, "postgres"),
  });
  await client.connect();
  const found = await client.query("select from pg_database where datname = $1", [DATABASE_NAME]);
  if (found.rowCount === 0) await client.query(`create database ${DATABASE_NAME}`);
  await client.end();
}

function connectionStringOf(password: string, port: number, database: string): string {
  return `postgres://${DATABASE_NAME}:${password}@127.0.0.1:${port}/${database}`;
}

function lastLines(path: string): string {
  return readFileSync(path, "utf8").trimEnd().split("\n").slice(-5).join("; ");
}
