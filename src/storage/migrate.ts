import type { Pool, PoolClient } from "pg";

import { isStoreFault, type Logger } from "../core/index.ts";
import { levelOf, MIGRATIONS_FOLDER, readMigrations } from "./migration-files.ts";
import { asOnlyRunner, type RunnerTimes, RUNNER_TIMES } from "./migration-runner.ts";
import { runStep } from "./migration-step.ts";
import {
  assertUpgradable,
  assertUsable,
  isCurrent,
  readSchemaState,
  SchemaFault,
  type SchemaState,
} from "./schema-state.ts";
import { planOf, type PlannedStep } from "./step-plan.ts";

export interface MigrateOptions {
  /** Another folder of steps than the program's. */
  readonly folder?: string;
  /** Receives a line for each step that waits and each that ran. */
  readonly log?: Pick<Logger, "info" | "warn">;
  readonly times?: RunnerTimes;
}

/** How a schema compares with this program's, and what `migrate` would do about it. */
export interface SchemaPlan {
  readonly state: SchemaState;
  readonly steps: readonly PlannedStep[];
}

/** Throws unless the database has what this program needs; changes nothing. */
export async function checkSchema(pool: Pool): Promise<void> {
  assertUsable(await readSchemaState(pool, readMigrations(MIGRATIONS_FOLDER)));
}

/** The steps that `migrateDatabase` would run; throws where it would refuse, and changes nothing. */
export async function planMigration(
  pool: Pool,
  folder: string = MIGRATIONS_FOLDER,
): Promise<SchemaPlan> {
  const state = await readSchemaState(pool, readMigrations(folder));
  assertUpgradable(state);
  return { state, steps: state.missing.map(planOf) };
}

/**
 * Brings the database to this program's schema, one step after the other; of several processes at
 * once one does it. Steps that ran stay when a later one fails. Returns the names of those it ran.
 */
export async function migrateDatabase(
  pool: Pool,
  options: MigrateOptions = {},
): Promise<readonly string[]> {
  const { folder = MIGRATIONS_FOLDER, log, times = RUNNER_TIMES } = options;
  const own = readMigrations(folder);
  const before = await readSchemaState(pool, own);
  assertUpgradable(before);
  // A start on a schema that is there waits for no other process.
  if (isCurrent(before)) return [];
  return await asOnlyRunner(pool, times, async (client) => {
    // Another process may have run them meanwhile.
    const state = await readSchemaState(client, own);
    assertUpgradable(state);
    await adopt(client);
    for (const step of state.missing) {
      await runStep(client, step, { times, log });
      log?.info({ step: step.name }, "the schema has a new step");
    }
    return state.missing.map(({ name }) => name);
  });
}

/** What version 0.1.0 and this program have run is in one list; its own list stays as it is. */
async function adopt(client: PoolClient): Promise<void> {
  try {
    await client.query(BOOKKEEPING_SQL);
  } catch (error) {
    if (isStoreFault(error)) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new SchemaFault(
      `the list of schema steps cannot be written: ${reason}; the role that migrates must own the database`,
      { cause: error },
    );
  }
}

/** Number of the newest step that this program has. */
export function programSchemaLevel(): number {
  return levelOf(readMigrations(MIGRATIONS_FOLDER));
}

// One message of several statements is one transaction.
const BOOKKEEPING_SQL = `
  create table if not exists schema_migration (
    name text primary key,
    sha256 text not null,
    applied_at timestamptz not null default now()
  );
  create table if not exists schema_step (
    name text primary key,
    level integer not null,
    program_min integer not null,
    sha256 text not null,
    at timestamptz not null default now()
  );
  insert into schema_step (name, level, program_min, sha256, at)
  select name, substring(name from '^\\d+')::integer, substring(name from '^\\d+')::integer,
    sha256, applied_at
  from schema_migration
  on conflict do nothing`;
