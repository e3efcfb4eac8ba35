import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { until } from "./books.ts";
import { freePort } from "./free-port.ts";
import { acceptsConnections, startTethered, type Tethered } from "./tethered-program.ts";
import { withResource } from "./with-resource.ts";
import { orReport } from "./or-report.ts";
import { newFolder } from "./run-folder.ts";

const PROGRAM: string | undefined = ["pgbouncer", "/usr/sbin/pgbouncer"].find(
  (name) => spawnSync(name, ["--version"]).status === 0,
);

export const hasPgBouncer: boolean = orReport(
  PROGRAM !== undefined,
  "pgbouncer is not on PATH: databases behind a pooler were NOT tested",
);

/** How long a client keeps a server session: for its own session, a transaction or a statement. */
export type PoolMode = "session" | "transaction" | "statement";

export type TestPgBouncer = Awaited<ReturnType<typeof startPgBouncer>>;

/** Starts PgBouncer for each mode on a free port of loopback. */
export async function startPgBouncer(to: {
  /** Any database of the server, with the role that opens the server sessions. */
  readonly connectionString: string;
  readonly logFile?: string;
}) {
  const folder = newFolder("pgbouncer");
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
    through: (connectionString: string, mode: PoolMode) => {
      const url = new URL(connectionString);
      url.port = String(ports.get(mode));
      return url.href;
    },
    /** Connects clients to this server from now on, by a new configuration and a reload. */
    leadTo: (connectionString: string) => {
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
  readonly logFile?: string;
}): string {
  const { server, port, mode, logFile } = input;
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
default_pool_size = 20
max_client_conn = 1000
server_idle_timeout = 5
server_login_retry = 1
${logFile === undefined ? "" : `logfile = ${logFile}`}
`;
}
