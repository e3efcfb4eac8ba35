import { expect, test } from "vitest";

import { openBackend } from "../../src/app/open-backend.ts";
import { openLogging } from "../../src/app/logging.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { freshDatabase } from "../support/postgres.ts";
import { readSql } from "../support/sql.ts";

test("a process has as many database connections as its setting says", async () => {
  const database = await freshDatabase();
  const flags = { databaseUrl: database.connectionString, databasePoolMax: 2 };
  const outcome = loadConfig({ flags, env: {} });
  if (outcome.kind === "invalid") throw new Error(outcome.problems.join("\n"));
  const { config } = outcome;
  const { log } = openLogging({ level: "silent", secrets: [], output: process.stderr });
  const backend = await openBackend({ config, log });
  try {
    await Promise.all(Array.from({ length: 8 }, () => backend.ping()));
    const rows = await readSql({ config }, CONNECTIONS_SQL, []);
    expect(rows).toEqual([{ connections: 2 }]);
  } finally {
    await backend.close();
    await database.drop();
  }
});

const CONNECTIONS_SQL = `select count(*)::integer as connections from pg_stat_activity
  where datname = current_database() and application_name = 'tokenmarket'`;
