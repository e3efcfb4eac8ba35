import { spawnSync } from "node:child_process";
import { appendFileSync, chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { orReport } from "./or-report.ts";
import { hasOwnPostgres, runAsPostgres, startOwnPostgres } from "./own-postgres.ts";
import { newFolder } from "./run-folder.ts";

const DEPLOY = resolve(import.meta.dirname, "../../deploy/postgres");

export const hasPgbackrest: boolean = orReport(
  hasOwnPostgres && spawnSync("pgbackrest", ["version"]).status === 0,
  "no pgbackrest on PATH, or no PostgreSQL: restores of an operator's own were NOT tested",
);

/** Starts a PostgreSQL that pgBackRest backs up, with the shipped configuration files. */
export async function startArchivingPostgres() {
  const server = await startOwnPostgres();
  const root = newFolder("pgbackrest");
  for (const name of ["repo", "lock"]) {
    mkdirSync(join(root, name));
    chmodSync(join(root, name), 0o777);
  }
  const config = join(root, "pgbackrest.conf");
  const shipped = readFileSync(join(DEPLOY, "pgbackrest.conf"), "utf8")
    .replace("/var/lib/pgbackrest", join(root, "repo"))
    .replace("/var/lib/postgresql/18/main", server.data)
    .replace("pg1-port=5432", `pg1-port=${server.port}\npg1-socket-path=${server.data}`)
    .replace("pg1-user=postgres", "pg1-user=admin");
  writeFileSync(config, `${shipped}\n[global]\nlock-path=${join(root, "lock")}\n`);
  const archiving = readFileSync(join(DEPLOY, "archiving.conf"), "utf8");
  appendFileSync(
    join(server.data, "postgresql.conf"),
    `\nunix_socket_directories = '${server.data}'\n` +
      archiving.replace("pgbackrest ", `pgbackrest --config=${config} `),
  );
  const pgbackrest = (...args: readonly string[]): void =>
    runAsPostgres("pgbackrest", `--config=${config}`, "--stanza=tokenmarket", ...args);
  await server.stop();
  await server.start();
  pgbackrest("stanza-create");
  pgbackrest("check");
  return {
    server,
    pgbackrest,
    close: async () => {
      await server.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}
