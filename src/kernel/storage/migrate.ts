import type { Pool, PoolClient } from "pg";

import { isStoreFault } from "../core/store-fault.ts";
import type { Logger } from "../core/log.ts";
import { levelOf, type Migration, ownSteps } from "./migration-files.ts";
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

export interface MigrateOptions {
  /** Default: this program's. */
  readonly steps?: readonly Migration[];
  /** Receives a line for each step that waits and each that ran. */
  readonly log?: Pick<Logger, "info" | "warn">;
  readonly times?: RunnerTimes;
}

/** Throws unless the database has what this program needs; changes nothing. */
export async function checkSchema(pool: Pool): Promise<void> {
  assertUsable(await readSchemaState(pool, ownSteps()));
}

/** What `migrateDatabase` would do; throws where it would refuse, and changes nothing. */
export async function readSchema(pool: Pool): Promise<SchemaState> {
  const state = await readSchemaState(pool, ownSteps());
  assertUpgradable(state);
  return state;
}

/**
 * Brings the database to this program's schema, one step after the other; of several processes at
 * once one does it. Steps that ran stay when a later one fails. Returns the names of those it ran.
 */
export async function migrateDatabase(
  pool: Pool,
  options: MigrateOptions = {},
): Promise<readonly string[]> {
  const { steps: own = ownSteps(), log, times = RUNNER_TIMES } = options;
  const before = await readSchemaState(pool, own);
  assertUpgradable(before);
  // A start on a schema that is there waits for no other process.
  if (isCurrent(before)) return [];
  return await asOnlyRunner(pool, times, async (client) => {
    // Another process may have run them meanwhile.
    const state = await readSchemaState(client, own);
    assertUpgradable(state);
    await makeList(client);
    for (const step of state.missing) {
      await runStep(client, step, { times, log });
      log?.info({ step: step.name }, "the schema has a new step");
    }
    return state.missing.map(({ name }) => name);
  });
}

async function makeList(client: PoolClient): Promise<void> {
  try {
    await client.query(LIST_SQL);
  } catch (error) {
    if (isStoreFault(error)) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new SchemaFault(
      `the list of schema steps cannot be written: ${reason}; the role that migrates must own the database`,
      { cause: error },
    );
  }
}

/** Level of the newest step that this program has. */
export function programSchemaLevel(): number {
  return levelOf(ownSteps());
}

const LIST_SQL = `
  create table if not exists schema_step (
    name text primary key,
    level integer not null,
    program_min integer not null,
    sha256 text not null,
    at timestamptz not null default now()
  )`;
