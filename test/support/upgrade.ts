import { onTestFinished } from "vitest";

import { openPool } from "../../src/kernel/storage/connection.ts";
import { migrateDatabase, type MigrateOptions } from "../../src/kernel/storage/migrate.ts";
import { computeLevel, ownSteps, toMigration } from "../../src/kernel/storage/schema-state.ts";
import { ask, type HttpAnswer } from "./ask.ts";
import { OPERATOR_ENV, openAccountByCommands, type OperatorFolder, serve } from "./operator.ts";
import { emptyDatabase } from "./postgres.ts";
import { runCommand, type RunningProgram } from "./program.ts";
import { silentLog } from "./silent-log.ts";
import { SteadyTraffic } from "./steady-traffic.ts";

/** Limits far above the traffic of any test. */
const WIDE_LIMITS: Readonly<Record<string, string>> = {
  LOG_LEVEL: "warn",
  TM_LIMITS_ORG_REQUESTS_PER_MINUTE: "10000000",
  TM_LIMITS_KEY_REQUESTS_PER_MINUTE: "10000000",
  TM_LIMITS_TOKENS_PER_MINUTE: "1000000000",
  TM_LIMITS_CONCURRENT_REQUESTS: "10000",
};

/** Schema steps of a later release, on every table that a reserve writes or reads. */
const LATER_STEPS: Readonly<Record<string, string>> = {
  columns: `alter table attempt add column upgrade_note text;
    alter table hold add column upgrade_note text;
    alter table account add column upgrade_count bigint not null default 0;
    create table upgrade_table (org_id text primary key references org);
    create function upgrade_function(amount bigint) returns bigint language sql immutable as
      'select amount + 1';`,
  // This step waits for as long as a report on the transfers is open.
  transfers: "alter table transfer add column upgrade_note text;",
};

/** Opens a database with an account, whose schema a later release changes under gateways. */
export async function beginUpgrade(folder: OperatorFolder) {
  const database = await emptyDatabase();
  onTestFinished(() => database.drop());
  const { connectionString } = database;
  const env = { ...OPERATOR_ENV, ...WIDE_LIMITS, DATABASE_URL: connectionString };
  await runCommand(["migrate"], env);
  const { key } = await openAccountByCommands([], "1000.00", env);
  return {
    connectionString,
    /** Starts another process of this program on the same database. */
    serve: async () => {
      const program = await serve(folder, env);
      onTestFinished(() => void program.process.kill("SIGKILL"));
      return program;
    },
    /** Makes `send` send requests to a gateway until the traffic is stopped or the test ends. */
    traffic: (
      program: RunningProgram,
      perSecond: number,
      send = (once: () => Promise<HttpAnswer>) => once(),
    ) => {
      const url = String(program.ready["gateway_url"]);
      const asked = { key, wire: "wire_a", model: "op/model", text: "a" } as const;
      const traffic = new SteadyTraffic(perSecond, () => send(() => ask(url, asked)));
      onTestFinished(async () => void (await traffic.stop()));
      return traffic;
    },
    /** Applies the schema steps of this program that are missing, then those of a later release. */
    migrate: async (options: Omit<MigrateOptions, "steps"> = {}) => {
      const own = ownSteps();
      const level = computeLevel(own);
      const later = Object.entries(LATER_STEPS).map(([name, sql], at) =>
        toMigration({ name, level: level + 1 + at, text: `-- program_min: ${level}\n${sql}` }),
      );
      const pool = openPool(connectionString, silentLog);
      try {
        return await migrateDatabase(pool, { ...options, steps: [...own, ...later] });
      } finally {
        await pool.end();
      }
    },
    audit: async () => (await runCommand(["ledger", "audit"], env)).code,
  };
}
