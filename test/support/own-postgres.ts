import { spawnSync } from "node:child_process";
import { appendFileSync, chmodSync, copyFileSync, existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

import type { TestAuthority } from "./authority.ts";
import { until } from "./books.ts";
import { freePort } from "./free-port.ts";
import { startTethered, type Tethered } from "./tethered-program.ts";
import { orReport } from "./or-report.ts";
import { newFolder } from "./run-folder.ts";
import { inSession } from "./sql.ts";

const PASSWORD = "owner-password";
const DATABASE = "market";

const programs: string | undefined = findPrograms();

export const hasOwnPostgres: boolean = orReport(
  programs !== undefined,
  "no PostgreSQL in /usr/lib/postgresql: replicas, TLS and an ordinary role were NOT tested",
);

/** A separate server as operators have it: the program's role owns one database and no more. */
export interface OwnPostgres {
  readonly port: number;
  readonly data: string;
  readonly connectionString: string;
  readonly adminConnectionString: string;
  replica(): Promise<OwnPostgres>;
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Kills the server, as if its machine died. `start` recovers it from its write-ahead log. */
  kill(): Promise<void>;
  close(): Promise<void>;
}

export async function startOwnPostgres(authority?: TestAuthority): Promise<OwnPostgres> {
  const folder = newPostgresFolder();
  runAsPostgres(
    program("initdb"),
    "-D",
    join(folder, "data"),
    "-U",
    "admin",
    "-A",
    "trust",
    "-E",
    "UTF8",
    "-N",
  );
  appendFileSync(join(folder, "data", "postgresql.conf"), await serverSettings(folder, authority));
  const server = await openOwnPostgres(folder);
  await inSession(server.adminConnectionString, async (admin) => {
    await admin.query(`create role owner login password '${PASSWORD}'`);
    await admin.query(`create database ${DATABASE} owner owner`);
  });
  return server;
}

export function newPostgresFolder(): string {
  const folder = newFolder("own-postgres");
  chmodSync(folder, 0o777);
  return folder;
}

async function serverSettings(folder: string, authority?: TestAuthority): Promise<string> {
  const tls = authority && [
    "ssl = on",
    `ssl_cert_file = '${take(authority.certFile, folder)}'`,
    `ssl_key_file = '${take(authority.keyFile, folder)}'`,
  ];
  const own = ["listen_addresses = 'localhost'", "unix_socket_directories = ''"];
  return [
    "",
    `port = ${await freePort()}`,
    ...own,
    "max_connections = 100",
    ...(tls ?? []),
    "",
  ].join("\n");
}

/** Copies a file, readable by the server's user only; returns the copy. */
function take(file: string, folder: string): string {
  const copy = join(folder, file.split("/").at(-1) ?? "");
  copyFileSync(file, copy);
  chmodSync(copy, 0o600);
  if (process.getuid?.() === 0) spawnSync("chown", ["postgres", copy]);
  return copy;
}

export async function openOwnPostgres(folder: string): Promise<OwnPostgres> {
  const data = join(folder, "data");
  let server: Tethered | undefined;
  const port = Number(lastSetting(data, "port"));
  const adminConnectionString = `postgres://admin@localhost:${port}/postgres`;
  const start = async (): Promise<void> => {
    server = await startTethered([...asUser(), program("postgres"), "-D", data]);
    await until("the server answers", () =>
      inSession(adminConnectionString, () => Promise.resolve(true)).catch(() => false),
    );
  };
  const stop = async (): Promise<void> => {
    runAsPostgres(program("pg_ctl"), "stop", "-D", data, "-m", "fast", "-w");
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
      const into = ["-D", join(copy, "data"), "-R", "-X", "stream", "-c", "fast"];
      runAsPostgres(program("pg_basebackup"), ...from, ...into);
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

/** PostgreSQL refuses to run as root, so root starts it as the user `postgres`. */
function asUser(): readonly string[] {
  return process.getuid?.() === 0 ? ["setpriv", "--reuid=postgres", "--clear-groups"] : [];
}

const IN_ROOT = { encoding: "utf8", cwd: "/" } as const;

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
