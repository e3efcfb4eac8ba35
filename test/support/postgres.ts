import { Client } from "pg";
import { beforeAll, inject, onTestFinished } from "vitest";
import { createRecordId } from "../../src/kernel/core/ids.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import type { Membership } from "../../src/ledger/ledger-batch-store.ts";
import type { Ledger } from "../../src/ledger/ledger-store.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { beginSession } from "../../src/kernel/storage/connection.ts";
import { PROGRAM_ROLE } from "../../src/kernel/storage/embedded-database.ts";
import { startEmbeddedPostgres } from "../../src/kernel/storage/embedded-server.ts";
import { openPostgresBackend, type PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { directOf } from "./pooled-addresses.ts";
import { startPgBouncer, type TestPgBouncer } from "./pgbouncer.ts";
import { pinPrices } from "./ledger-rows.ts";
import { type ReserveBatchStore, withReserveBatch } from "./reserve-batch.ts";
import { silentLog } from "./silent-log.ts";
import { withResource } from "./with-resource.ts";
import { inSession } from "./sql.ts";

export interface FreshDatabase {
  readonly connectionString: string;
  drop(): Promise<void>;
}

export async function freshDatabase(): Promise<FreshDatabase> {
  return await createDatabase(await templateOfRun());
}

export async function databaseOfTest(): Promise<string> {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  return database.connectionString;
}

export async function emptyDatabase(): Promise<FreshDatabase> {
  return await createDatabase("template1");
}

async function createDatabase(template: string): Promise<FreshDatabase> {
  const server = await serverOfRun();
  const name = createRecordId("test");
  // Copies files: a copy through the write-ahead log, page by page, takes three times as long.
  const options = `template ${template} owner ${PROGRAM_ROLE} strategy file_copy`;
  await runOnce(server.admin, `create database ${name} ${options}`);
  return {
    connectionString: databaseUrl(server.program, name),
    drop: () => runOnce(server.admin, `drop database ${name} with (force)`),
  };
}

function databaseUrl(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** This database is migrated once in a run and then copied: a migration takes five times longer. */
const TEMPLATE = "tokenmarket_template";
/** The number of an advisory lock that nothing else uses in the server's first database. */
const TEMPLATE_LOCK = 1;

/** Makes a thing once for the files of a worker; after a failure the next file tries again. */
function shared<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}

const templateOfRun = shared(makeTemplate);

/** The first worker creates the template; the others wait for it at the lock. */
async function makeTemplate(): Promise<string> {
  const server = await serverOfRun();
  const client = new Client({ connectionString: server.admin });
  await client.connect();
  try {
    await client.query("select pg_advisory_lock($1)", [TEMPLATE_LOCK]);
    const isThere = "select 1 from pg_database where datname = $1";
    if ((await client.query(isThere, [TEMPLATE])).rows.length > 0) return TEMPLATE;
    await makeLogInsCheap(client, server);
    if (process.env["TM_TEST_SERVER"] === "hostile") await makeHostile(client);
    // Renamed at the end, so that a worker that dies before leaves no incomplete template.
    const unfinished = createRecordId("test");
    // Tests may do what the journal's triggers forbid; the program never may.
    await client.query(`grant set on parameter session_replication_role to ${PROGRAM_ROLE}`);
    await client.query(`create database ${unfinished} owner ${PROGRAM_ROLE}`);
    const connectionString = databaseUrl(server.program, unfinished);
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

/** Settings that an operator may have made for all sessions, and that the program must override. */
export const HOSTILE_SETTINGS: Readonly<Record<string, string>> = {
  jit: "on",
  jit_above_cost: "0",
  jit_inline_above_cost: "0",
  jit_optimize_above_cost: "0",
  plan_cache_mode: "force_custom_plan",
  max_parallel_workers_per_gather: "4",
  min_parallel_table_scan_size: "0",
  parallel_setup_cost: "0",
  parallel_tuple_cost: "0",
  synchronous_commit: "off",
  default_transaction_isolation: "serializable",
  search_path: "decoy, public",
  row_security: "off",
  transform_null_equals: "on",
  array_nulls: "off",
  timezone: "'Pacific/Chatham'",
  datestyle: "SQL, DMY",
  intervalstyle: "iso_8601",
  bytea_output: "escape",
  extra_float_digits: "-15",
};

/** Makes these settings for the program's role, in a run with `TM_TEST_SERVER=hostile`. */
async function makeHostile(client: Client): Promise<void> {
  for (const [name, value] of Object.entries(HOSTILE_SETTINGS)) {
    await client.query(`alter role ${PROGRAM_ROLE} set ${name} = ${value}`);
  }
}

/** Lets passwords be hashed less often: a run has thousands of log-ins, each of milliseconds. */
async function makeLogInsCheap(client: Client, { program, admin }: ServerOfRun): Promise<void> {
  await client.query("set scram_iterations = 1");
  for (const url of [program, admin].map((text) => new URL(text))) {
    const password = client.escapeLiteral(decodeURIComponent(url.password));
    await client.query(`alter role ${url.username} password ${password}`);
  }
}

/** Addresses of the server's first database, for the program's role and for a superuser. */
interface ServerOfRun {
  readonly program: string;
  readonly admin: string;
}

/** Finding the server costs a log-in under a lock. */
const serverOfRun = shared(async (): Promise<ServerOfRun> => {
  const found = await startEmbeddedPostgres({ dataDir: inject("postgresDataDir"), log: silentLog });
  return { program: found.connectionString, admin: found.adminConnectionString };
});

/** Returns the addresses for the stores; through PgBouncer with `TM_TEST_POOLER` set to a mode. */
export async function addressesOf(
  connectionString: string,
): Promise<{ readonly connectionString: string; readonly directConnectionString: string }> {
  const mode = process.env["TM_TEST_POOLER"];
  if (mode !== "session" && mode !== "transaction") {
    return { connectionString, directConnectionString: connectionString };
  }
  const logFile = process.env["TM_TEST_POOLER_LOG"];
  const known = directOf.get(connectionString);
  if (known !== undefined) return { connectionString, directConnectionString: known };
  pooler ??= startPgBouncer({ connectionString, ...(logFile === undefined ? {} : { logFile }) });
  const pooled = (await pooler).through(connectionString, mode);
  const direct = mode === "session" ? pooled : connectionString;
  directOf.set(pooled, direct);
  return { connectionString: pooled, directConnectionString: direct };
}

let pooler: Promise<TestPgBouncer> | undefined;

export async function asAdmin({ connectionString }: { connectionString: string }): Promise<string> {
  const { admin } = await serverOfRun();
  return databaseUrl(admin, new URL(connectionString).pathname.slice(1));
}

export function withDatabase(): FreshDatabase {
  return withResource(emptyDatabase, (database) => database.drop());
}

export interface FreshBackend extends PostgresBackend {
  readonly connectionString: string;
  readonly ledgerBatchStore: ReserveBatchStore;
  query(sql: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
}

export async function freshBackend(): Promise<FreshBackend> {
  const database = await freshDatabase();
  const { connectionString } = database;
  const addresses = await addressesOf(connectionString);
  const backend = openPostgresBackend({ ...addresses, log: silentLog });
  const client = new Client({ connectionString });
  client.on("error", () => undefined);
  await client.connect();
  await beginSession(client, { statementTimeoutMs: 0 });
  // The ids of attempts that a test numbers from 1 are of 2025-01-01, the first possible day.
  await client.query("select ensure_attempt_partition('2025-01-01')");
  return {
    ...backend,
    connectionString,
    ledgerBatchStore: withReserveBatch(backend.ledgerBatchStore),
    query: async (sql, values = []) =>
      (await client.query<Record<string, unknown>>(sql, values)).rows,
    close: async () => {
      await client.end();
      await backend.close();
      await database.drop();
    },
  };
}

/** Changes rows without triggers and foreign keys, which the program may never do. */
export async function tamper(backend: FreshBackend, sql: string, values: unknown[] = []) {
  await backend.query("set session_replication_role = replica");
  try {
    await backend.query(sql, values);
  } finally {
    await backend.query("set session_replication_role = default").catch(() => undefined);
  }
}

export function withBackend(): FreshBackend {
  return withResource(freshBackend);
}

export function withOtherBackend(backend: FreshBackend): PostgresBackend {
  return withResource(() =>
    openPostgresBackend({ connectionString: backend.connectionString, log: silentLog }),
  );
}

/** Like `withBackend`, with the price pins to which the ledger rows of the tests refer. */
export function withPricedBackend(): FreshBackend {
  const backend = withBackend();
  beforeAll(() => pinPrices(backend));
  return backend;
}

export function withMember(
  backend: Pick<PostgresBackend, "ledgerBatchStore">,
  leaseMs = 3_600_000,
): Membership {
  return withResource(() => backend.ledgerBatchStore.join("tests", leaseMs));
}

export function withLedger(backend: FreshBackend, instanceName: string): Ledger {
  const more = { clock: systemClock, log: silentLog, instanceName };
  return withResource(
    () => openLedger({ store: backend.ledgerBatchStore, ...more }),
    (ledger) => ledger.shutDown(),
  );
}

export async function runOnce(connectionString: string, sql: string): Promise<void> {
  await inSession(connectionString, (client) => client.query(sql));
}
