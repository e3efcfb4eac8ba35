import { Client } from "pg";
import { beforeAll, inject } from "vitest";
import { newRecordId } from "../../src/core/ids.ts";
import { systemClock } from "../../src/core/time.ts";
import type { Ledger } from "../../src/ledger/ledger-store.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { startEmbeddedPostgres } from "../../src/storage/postgres/embedded-server.ts";
import {
  openPostgresBackend,
  type PostgresBackend,
} from "../../src/storage/postgres/open-postgres-backend.ts";
import { pinPrices } from "./ledger-rows.ts";
import { silentLog } from "./silent-log.ts";
import { withResource } from "./with-resource.ts";

export interface FreshDatabase {
  readonly connectionString: string;
  drop(): Promise<void>;
}

/** A database of its own with this program's schema, on the run's PostgreSQL. */
export async function freshDatabase(): Promise<FreshDatabase> {
  return await createDatabase(await templateOfRun());
}

/** A database of its own with nothing in it. */
export async function emptyDatabase(): Promise<FreshDatabase> {
  return await createDatabase("template1");
}

async function createDatabase(template: string): Promise<FreshDatabase> {
  const server = await serverOfRun();
  const name = newRecordId("test");
  await runOnce(server, `create database ${name} template ${template}`);
  return {
    connectionString: databaseUrl(server, name),
    drop: () => runOnce(server, `drop database ${name} with (force)`),
  };
}

function databaseUrl(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** Migrated once for the whole run: a copy of it costs a fifth of the migrations. */
const TEMPLATE = "tokenmarket_template";
/** Any number, as long as no other lock of the server's first database has it. */
const TEMPLATE_LOCK = 1;

let template: Promise<string> | undefined;

function templateOfRun(): Promise<string> {
  template ??= makeTemplate().catch((error: unknown) => {
    // The next file tries again.
    template = undefined;
    throw error;
  });
  return template;
}

/** The first worker that asks makes it, the others wait for it at the lock. */
async function makeTemplate(): Promise<string> {
  const server = await serverOfRun();
  const client = new Client({ connectionString: server });
  await client.connect();
  try {
    await client.query("select pg_advisory_lock($1)", [TEMPLATE_LOCK]);
    const isThere = "select 1 from pg_database where datname = $1";
    if ((await client.query(isThere, [TEMPLATE])).rows.length > 0) return TEMPLATE;
    // Named at the end: a worker that dies before leaves nothing that looks whole.
    const unfinished = newRecordId("test");
    await client.query(`create database ${unfinished}`);
    const connectionString = databaseUrl(server, unfinished);
    const backend = openPostgresBackend({ connectionString, log: silentLog });
    try {
      await backend.migrate();
    } finally {
      await backend.close();
    }
    await client.query(`alter database ${unfinished} rename to ${TEMPLATE}`);
    return TEMPLATE;
  } finally {
    await client.end();
  }
}

/** Shared by the files of a worker: finding the running server costs a log-in under a lock. */
let server: Promise<string> | undefined;

function serverOfRun(): Promise<string> {
  server ??= startEmbeddedPostgres({ dataDir: inject("postgresDataDir"), log: silentLog }).then(
    ({ connectionString }) => connectionString,
    (error: unknown) => {
      // The next file tries again.
      server = undefined;
      throw error;
    },
  );
  return server;
}

/** An empty database, for the tests of the calling file or `describe`. */
export function withDatabase(): FreshDatabase {
  return withResource(emptyDatabase, (database) => database.drop());
}

export interface FreshBackend extends PostgresBackend {
  readonly connectionString: string;
  /** Any SQL, for what no store offers. */
  query(sql: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
}

/** All stores on a database of their own; `close` drops it. */
export async function freshBackend(): Promise<FreshBackend> {
  const database = await freshDatabase();
  const { connectionString } = database;
  const backend = openPostgresBackend({ connectionString, log: silentLog });
  const client = new Client({ connectionString });
  client.on("error", () => undefined);
  await client.connect();
  // Attempts that a test numbers by itself, from 1 on, are those of the first day of all.
  await client.query("select ensure_attempt_partition('2025-01-01')");
  return {
    ...backend,
    connectionString,
    query: async (sql, values = []) =>
      (await client.query<Record<string, unknown>>(sql, values)).rows,
    close: async () => {
      await client.end();
      await backend.close();
      await database.drop();
    },
  };
}

/** The stores of `freshBackend`, for the tests of the calling file or `describe`. */
export function withBackend(): FreshBackend {
  return withResource(freshBackend, (backend) => backend.close());
}

/** The same, with the prices that the ledger rows of the tests refer to. */
export function withPricedBackend(): FreshBackend {
  const backend = withBackend();
  beforeAll(() => pinPrices(backend));
  return backend;
}

/** A ledger on those stores, as one process has it open, for the same tests. */
export function withLedger(backend: FreshBackend, instanceName: string): Ledger {
  return withResource(
    () =>
      openLedger({
        store: backend.ledgerBatchStore,
        clock: systemClock,
        log: silentLog,
        instanceName,
      }),
    (ledger) => ledger.shutDown(),
  );
}

async function runOnce(connectionString: string, sql: string): Promise<void> {
  const client = new Client({ connectionString });
  await client.connect();
  await client.query(sql);
  await client.end();
}
