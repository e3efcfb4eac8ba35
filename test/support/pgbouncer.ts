import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { until } from "./books.ts";
import { freePort } from "./free-port.ts";
import { startTethered, type Tethered } from "./tethered.ts";
import { acceptsConnections } from "./tethered-program.ts";
import { withResource } from "./with-resource.ts";
import { orReport } from "./or-report.ts";

/** PgBouncer on PATH, or in the folder of system programs. */
const PROGRAM: string | undefined = ["pgbouncer", "/usr/sbin/pgbouncer"].find(
  (name) => spawnSync(name, ["--version"]).status === 0,
);

/** False if PgBouncer is missing; the tests through a real pooler are then skipped and reported. */
export const hasPgBouncer: boolean = orReport(
  PROGRAM !== undefined,
  "pgbouncer is not on PATH: databases behind a pooler were NOT tested",
);

/** How long a client keeps a server session: for its own session, a transaction or a statement. */
export type PoolMode = "session" | "transaction" | "statement";

export interface TestPgBouncer {
  /** Returns the address of the same database through the pooler, in this mode. */
  through(connectionString: string, mode: PoolMode): string;
  /** Connects clients to this server from now on, by a new configuration and a reload. */
  leadTo(connectionString: string): void;
  close(): Promise<void>;
}

/** Starts PgBouncer for each mode on a free port of loopback. */
export async function startPgBouncer(to: {
  /** Any database of the server, with the role that opens the server sessions. */
  readonly connectionString: string;
  /** Most server sessions for each database in each mode. Default 20. */
  readonly poolSize?: number;
  /** The file to which PgBouncer logs who connects. Default: it logs nowhere. */
  readonly logFile?: string;
}): Promise<TestPgBouncer> {
  const folder = mkdtempSync(join(tmpdir(), "tokenmarket-pgbouncer-"));
  chmodSync(folder, 0o755);
  const programs: Tethered[] = [];
  const ports = new Map<PoolMode, number>();
  const fileOf = (mode: PoolMode): string => join(folder, `${mode}.ini`);
  const write = (mode: PoolMode, port: number, connectionString: string): void =>
    writeFileSync(fileOf(mode), configOf({ ...to, server: new URL(connectionString), port, mode }));
  for (const mode of ["session", "transaction", "statement"] as const) {
    const port = await freePort();
    write(mode, port, to.connectionString);
    programs.push(await started(fileOf(mode), port));
    ports.set(mode, port);
  }
  return {
    through: (connectionString, mode) => {
      const url = new URL(connectionString);
      url.port = String(ports.get(mode));
      return url.href;
    },
    leadTo: (connectionString) => {
      for (const [mode, port] of ports) write(mode, port, connectionString);
      for (const { pid } of programs) process.kill(pid, "SIGHUP");
    },
    close: async () => {
      await Promise.all(programs.map((program) => program.kill()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function withPgBouncer(server: () => string): TestPgBouncer {
  return withResource(() => startPgBouncer({ connectionString: server() }));
}

async function started(file: string, port: number): Promise<Tethered> {
  // PgBouncer refuses to run as root, so root starts it as `nobody`.
  const user = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const server = await startTethered([PROGRAM ?? "", "-q", ...user, file]);
  await until("PgBouncer listens", () => acceptsConnections(port));
  return server;
}

/** Passes every database on under its own name; clients may give any password. */
function configOf(input: {
  readonly server: URL;
  readonly port: number;
  readonly mode: PoolMode;
  readonly poolSize?: number;
  readonly logFile?: string;
}): string {
  const { server, port, mode, poolSize = 20, logFile } = input;
  const to = [
    `host=${server.hostname}`,
    `port=${server.port}`,
    `user=${decodeURIComponent(server.username)}`,
    `password=${decodeURIComponent(server.password)}`,
  ];
  return `[databases]
* = ${to.join(" ")}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = ${poolSize}
max_client_conn = 1000
server_idle_timeout = 5
server_login_retry = 1
${logFile === undefined ? "" : `logfile = ${logFile}`}
`;
}
