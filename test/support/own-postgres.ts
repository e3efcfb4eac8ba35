import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Client } from "pg";

import type { TestAuthority } from "./authority.ts";
import { until } from "./books.ts";
import { freePort } from "./free-port.ts";
import { startTethered, type Tethered } from "./tethered.ts";
import { orReport } from "./or-report.ts";

const PASSWORD = "owner-password";
const DATABASE = "market";

/** The folder of the distribution's newest PostgreSQL programs; undefined if there is none. */
const programs: string | undefined = findPrograms();

/**
 * False if PostgreSQL's programs are missing; the tests on a separate server are then skipped and
 * reported.
 */
export const hasOwnPostgres: boolean = orReport(
  programs !== undefined,
  "no PostgreSQL in /usr/lib/postgresql: replicas, TLS and an ordinary role were NOT tested",
);

/** A separate server as operators have it: the program's role owns one database and no more. */
export interface OwnPostgres {
  readonly port: number;
  readonly data: string;
  /** Connects as the ordinary role that owns the database. */
  readonly connectionString: string;
  readonly adminConnectionString: string;
  /** Starts a streaming replica of this server. */
  replica(): Promise<OwnPostgres>;
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Kills the server, as if its machine died. `start` recovers it from its write-ahead log. */
  kill(): Promise<void>;
  close(): Promise<void>;
}

export async function startOwnPostgres(authority?: TestAuthority): Promise<OwnPostgres> {
  const folder = newPostgresFolder();
  run("initdb", "-D", join(folder, "data"), "-U", "admin", "-A", "trust", "-E", "UTF8", "-N");
  appendFileSync(join(folder, "data", "postgresql.conf"), await serverSettings(folder, authority));
  const server = await openOwnPostgres(folder);
  const admin = new Client({ connectionString: server.adminConnectionString });
  await admin.connect();
  await admin.query(`create role owner login password '${PASSWORD}'`);
  await admin.query(`create database ${DATABASE} owner owner`);
  await admin.end();
  return server;
}

/** Returns a folder in which the server's user may create a data folder. */
export function newPostgresFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "tokenmarket-own-postgres-"));
  chmodSync(folder, 0o777);
  return folder;
}

async function serverSettings(folder: string, authority?: TestAuthority): Promise<string> {
  const tls =
    authority === undefined
      ? ""
      : `ssl = on\nssl_cert_file = '${take(authority.certFile, folder)}'\n` +
        `ssl_key_file = '${take(authority.keyFile, folder)}'\n`;
  return (
    `\nport = ${await freePort()}\nlisten_addresses = 'localhost'\n` +
    `unix_socket_directories = ''\nmax_connections = 100\n${tls}`
  );
}

/** Copies a file, readable by the server's user only; returns the copy. */
function take(file: string, folder: string): string {
  const copy = join(folder, file.split("/").at(-1) ?? "");
  copyFileSync(file, copy);
  chmodSync(copy, 0o600);
  if (process.getuid?.() === 0) spawnSync("chown", ["postgres", copy]);
  return copy;
}

/** Starts the server whose data folder is `data` in `folder`. */
export async function openOwnPostgres(folder: string): Promise<OwnPostgres> {
  const data = join(folder, "data");
  let server: Tethered | undefined;
  const port = Number(lastSetting(data, "port"));
  const adminConnectionString = `postgres://admin@localhost:${port}/postgres`;
  const start = async (): Promise<void> => {
    server = await startTethered([...asUser(), program("postgres"), "-D", data]);
    await until("the server answers", () => answers(adminConnectionString));
  };
  const stop = async (): Promise<void> => {
    run("pg_ctl", "stop", "-D", data, "-m", "fast", "-w");
    await server?.kill();
    server = undefined;
  };
  await start();
  return {
    port,
    data,
    connectionString: `postgres://owner:${PASSWORD}@localhost:${port}/${DATABASE}`,
    adminConnectionString,
    start,
    stop,
    kill: async () => {
      await server?.kill();
      server = undefined;
    },
    replica: async () => {
      const copy = newPostgresFolder();
      const from = ["-h", "localhost", "-p", String(port), "-U", "admin"];
      run("pg_basebackup", ...from, "-D", join(copy, "data"), "-R", "-X", "stream", "-c", "fast");
      appendFileSync(join(copy, "data", "postgresql.conf"), `\nport = ${await freePort()}\n`);
      return await openOwnPostgres(copy);
    },
    close: async () => {
      if (server !== undefined) await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function lastSetting(data: string, name: string): string | undefined {
  const words = [...asUser(), program("postgres"), "-D", data, "-C", name];
  const { stdout } = spawnSync(words[0] ?? "", words.slice(1), IN_ROOT);
  return stdout.trim().split("\n").at(-1);
}

async function answers(connectionString: string): Promise<boolean> {
  const client = new Client({ connectionString });
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}

/** PostgreSQL refuses to run as root, so root starts it as the user `postgres`. */
function asUser(): readonly string[] {
  return process.getuid?.() === 0 ? ["setpriv", "--reuid=postgres", "--clear-groups"] : [];
}

const IN_ROOT = { encoding: "utf8", cwd: "/" } as const;

function run(name: string, ...args: readonly string[]): void {
  runAsPostgres(program(name), ...args);
}

export function runAsPostgres(name: string, ...args: readonly string[]): void {
  const words = [...asUser(), name, ...args];
  const { status, stdout, stderr } = spawnSync(words[0] ?? "", words.slice(1), IN_ROOT);
  if (status !== 0) throw new Error(`${name}: ${stderr}${stdout}`);
}

function program(name: string): string {
  return join(programs ?? "", name);
}

function findPrograms(): string | undefined {
  const root = "/usr/lib/postgresql";
  if (!existsSync(root)) return undefined;
  const [newest] = readdirSync(root).toSorted((a, b) => Number(b) - Number(a));
  const folder = join(root, newest ?? "", "bin");
  return existsSync(join(folder, "pg_basebackup")) ? folder : undefined;
}
