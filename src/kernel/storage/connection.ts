import {
  Client,
  type ClientBase,
  type ClientConfig,
  type CustomTypesConfig,
  DatabaseError,
  Pool,
  type PoolClient,
  type PoolConfig,
  type QueryConfig,
  type QueryResult,
  type QueryResultRow,
  types,
} from "pg";

import { assert } from "../core/assert.ts";
import {
  DATABASE_CONNECTIONS_MAX,
  REPORT_CONNECTIONS_MAX,
  STORE_ANSWER_TIMEOUT_MS,
} from "../core/constants.ts";
import type { Logger } from "../core/log.ts";
import { asStoreFault } from "../core/store-fault.ts";
import type { Columns, Row } from "./columns.ts";
import { POOL_STATEMENT_TIMEOUT_MS, type SessionLimits, settingsSql } from "./session-settings.ts";

/** A connection string with its password, or a URL with a function that reads the password. */
export type DatabaseAddress = string | AskedAddress;

interface AskedAddress {
  /** The connection string, without a password. */
  readonly url: string;
  /** Called for each new connection, because the password may expire. */
  readonly password: () => Promise<string>;
}

function poolAddress(address: DatabaseAddress): {
  readonly connectionString: string;
  readonly Client?: new () => ClientBase;
} {
  if (typeof address === "string") return { connectionString: address };
  return { connectionString: address.url, Client: askingClient(address) };
}

/** Returns a client that is not connected yet. */
export function openClient(
  address: DatabaseAddress,
  config: Omit<ClientConfig, "connectionString" | "password" | "keepAlive">,
): Client {
  const { connectionString, Client: AskingClient = Client } = poolAddress(address);
  const Made = AskingClient as typeof Client;
  return new Made({ ...KEEP_ALIVE, ...config, connectionString });
}

/** The driver ignores a password function beside a connection string, so this class sets it. */
function askingClient({ password }: AskedAddress): typeof Client {
  return class extends Client {
    constructor(config?: string | ClientConfig) {
      super(config);
      (this as { password: unknown }).password = password;
    }
  };
}

const CONNECT_TIMEOUT_MS = 5_000;
/** Ends a connection whose server vanished while the connection was quiet. */
const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };
/** How long a server may be silent after a statement's time limit before it counts as lost. */
const SILENCE_MS = 2_000;

/** Parses int8 and numeric as bigint, and all other types as the driver does by default. */
const bigintTypes: CustomTypesConfig = {
  getTypeParser: ((oid: number) =>
    bigintOids.has(oid)
      ? BigInt
      : types.getTypeParser(oid, "text")) as CustomTypesConfig["getTypeParser"],
};
const bigintOids = new Set<number>([types.builtins.INT8, types.builtins.NUMERIC]);

/** Leaves every value as the text that the server sent. */
export const textTypes: CustomTypesConfig = {
  getTypeParser: (() => (text: string) => text) as CustomTypesConfig["getTypeParser"],
};

export async function beginSession(client: ClientBase, limits: SessionLimits): Promise<void> {
  await queryInTime(client, { text: settingsSql(limits, "session") });
}

/** Applies the settings to one transaction, after which a pooler may lend the session to others. */
export async function beginLocally(client: ClientBase, limits: SessionLimits): Promise<void> {
  await client.query(settingsSql(limits, "transaction"));
}

/**
 * Lifts the time limits, of the server and of this process, on the statements of a transaction or
 * session. This process limits the connection's statements again when it is borrowed next.
 */
export async function liftTimeLimits(
  client: ClientBase,
  of: "local" | "session" = "local",
): Promise<void> {
  await client.query(`set ${of} statement_timeout = 0`);
  limitAnswers(client, 0);
}

/** Sets how long this process waits for the answer of each later statement; 0 means no limit. */
export function limitAnswers(client: ClientBase, timeoutMs: number): void {
  // The driver reads its own parameter before it sends a statement.
  const driver = client as unknown as { connectionParameters: { query_timeout: number } };
  driver.connectionParameters.query_timeout = timeoutMs;
}

/** The driver awaits `onConnect`, although its type does not say so. */
type AwaitedConfig = Omit<PoolConfig, "onConnect" | "query_timeout"> & {
  readonly query_timeout: number;
  readonly onConnect?: (client: ClientBase) => Promise<void>;
};

/** Opens a pool for statements other than reports and the ledger's batches. */
export function openPool(
  address: DatabaseAddress,
  log: Logger,
  clientsMax: number = DATABASE_CONNECTIONS_MAX,
): Pool {
  const limits = { statementTimeoutMs: POOL_STATEMENT_TIMEOUT_MS };
  return openPoolWith(log, {
    ...poolConfig(address, clientsMax),
    onConnect: (client) => beginSession(client, limits),
  });
}

/**
 * Opens a pool for an address with a pooler in transaction mode, which may give the session to
 * another program after each transaction. Apart from `application_name`, the pool sets no session
 * parameter. It prepares no named statement. The role stores the program's settings (`settleRole`).
 */
export function openSharedPool(
  address: DatabaseAddress,
  log: Logger,
  clientsMax: number = DATABASE_CONNECTIONS_MAX,
): Pool {
  const pool = openPoolWith(log, poolConfig(address, clientsMax));
  pool.on("connect", forgetNames);
  forgetNames(pool);
  return pool;
}

function poolConfig(address: DatabaseAddress, max: number): AwaitedConfig {
  return {
    ...poolAddress(address),
    max,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: POOL_STATEMENT_TIMEOUT_MS + SILENCE_MS,
    application_name: "tokenmarket",
  };
}

/** Drops statement names: a prepared statement would stay in a session that other programs get. */
function forgetNames(of: Pool | PoolClient): void {
  const target = of as { query: (...args: unknown[]) => unknown };
  const run = target.query.bind(of);
  target.query = (query, ...rest) =>
    typeof query === "object" && query !== null && Object.hasOwn(query, "name")
      ? run({ ...query, name: undefined }, ...rest)
      : run(query, ...rest);
}

/**
 * Opens a pool for long reports. A report that gets no connection or no answer fails a few seconds
 * after its time limit. The caller must apply the program's settings in each transaction.
 */
export function openReportPool(
  address: DatabaseAddress,
  log: Logger,
  statementTimeoutMs: number,
): Pool {
  return openPoolWith(log, {
    ...poolAddress(address),
    max: REPORT_CONNECTIONS_MAX,
    connectionTimeoutMillis: statementTimeoutMs + CONNECT_TIMEOUT_MS,
    query_timeout: statementTimeoutMs + SILENCE_MS,
    application_name: "tokenmarket-console",
  });
}

export interface PoolUse {
  readonly busy: number;
  readonly idle: number;
  readonly waiting: number;
}

export function poolUse({ totalCount, idleCount, waitingCount }: Pool): PoolUse {
  return { busy: totalCount - idleCount, idle: idleCount, waiting: waitingCount };
}

function openPoolWith(log: Logger, config: AwaitedConfig): Pool {
  const pool = new Pool({
    ...config,
    ...KEEP_ALIVE,
    types: bigintTypes,
    allowExitOnIdle: true,
  });
  // An idle connection may be lost at any time; the next statement opens a new one.
  pool.on("error", (error) => log.warn({ err: error }, "an idle database connection was lost"));
  pool.on("connect", (client) => {
    // If a connection in use is lost, its next statement fails, so this event needs no handling.
    client.on("error", () => undefined);
    // A later statement would wait behind the one that got no answer.
    markMethod(client, "query", () => client.connection.stream.destroy());
  });
  pool.on("acquire", (client) => limitAnswers(client, config.query_timeout));
  markMethod(pool, "query");
  markMethod(pool, "connect");
  return pool;
}

/** Runs a statement that a client waits for, with `STORE_ANSWER_TIMEOUT_MS` for the answer. */
export function queryInTime<R extends QueryResultRow>(
  database: Pool | ClientBase,
  query: QueryConfig,
): Promise<QueryResult<R>> {
  const inTime: QueryConfig & { readonly query_timeout: number } = {
    ...query,
    query_timeout: STORE_ANSWER_TIMEOUT_MS,
  };
  return database.query<R>(inTime);
}

export async function readRows<T>(
  database: Pool | ClientBase,
  { read }: Columns<T>,
  text: string,
  values: unknown[] = [],
): Promise<readonly T[]> {
  return (await database.query<Row>(text, values)).rows.map(read);
}

/** Like `readRows`, with the time limit of `queryInTime`. */
export async function readRowsInTime<T>(
  database: Pool | ClientBase,
  { read }: Columns<T>,
  text: string,
  values: unknown[] = [],
): Promise<readonly T[]> {
  return (await queryInTime<Row>(database, { text, values })).rows.map(read);
}

/** Runs a statement that answers one row, and returns this row. */
export async function queryOne<R extends QueryResultRow>(
  database: Pool | ClientBase,
  text: string,
  values?: unknown[],
): Promise<R> {
  return onlyRow(await database.query<R>(text, values));
}

/** Like `queryOne`, with the time limit of `queryInTime`. */
export async function queryOneInTime<R extends QueryResultRow>(
  database: Pool | ClientBase,
  text: string,
  values: unknown[] = [],
): Promise<R> {
  return onlyRow(await queryInTime<R>(database, { text, values }));
}

function onlyRow<R extends QueryResultRow>({ rows: [row] }: QueryResult<R>): R {
  assert(row !== undefined, "the statement answers one row");
  return row;
}

/** Marks the faults of a method that mean that the store did not answer. */
function markMethod<K extends string>(
  of: Record<K, unknown> | object,
  name: K,
  onSilence?: () => void,
): void {
  const target = of as Record<K, (...args: unknown[]) => unknown>;
  const run = target[name].bind(of);
  target[name] = (...args) => {
    const answer = run(...args);
    if (!(answer instanceof Promise)) return answer;
    return answer.catch((fault: unknown) => {
      if (!(fault instanceof DatabaseError)) onSilence?.();
      throw isDatabaseAway(fault) ? asStoreFault(fault) : fault;
    });
  };
}

/**
 * SQLSTATE classes of faults after which a retry may succeed: connection, authorization,
 * transaction state, rollback, resources, locks, operator intervention, system.
 */
const AWAY_CLASSES: ReadonlySet<string> = new Set(["08", "28", "25", "40", "53", "55", "57", "58"]);

/** True if the server is down for now, or the connection was lost, refused or silent. */
function isDatabaseAway(fault: unknown): boolean {
  if (!(fault instanceof DatabaseError)) return true;
  return AWAY_CLASSES.has(fault.code?.slice(0, 2) ?? "") || fault.severity === "FATAL";
}
