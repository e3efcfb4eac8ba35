import {
  type ClientBase,
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

import {
  DATABASE_CONNECTIONS_MAX,
  REPORT_CONNECTIONS_MAX,
  STORE_ANSWER_TIMEOUT_MS,
} from "../core/constants.ts";
import type { Logger } from "../core/log.ts";
import { asStoreFault } from "../core/store-fault.ts";
import { type DatabaseAddress, poolAddress } from "./database-address.ts";
import { POOL_STATEMENT_TIMEOUT_MS, type SessionLimits, settingsSql } from "./session-settings.ts";

const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_AFTER_MS = 10_000;
/** A server that does not even say that time is up may have died without a word. */
const REPORT_SILENCE_MS = 2_000;

/** int8 and numeric as bigint, everything else as the driver has it. */
const bigintTypes: CustomTypesConfig = {
  getTypeParser: ((oid: number) =>
    bigintOids.has(oid)
      ? BigInt
      : types.getTypeParser(oid, "text")) as CustomTypesConfig["getTypeParser"],
};
const bigintOids = new Set<number>([types.builtins.INT8, types.builtins.NUMERIC]);

/** Gives a connection that was just opened the program's own settings. */
export async function beginSession(client: ClientBase, limits: SessionLimits): Promise<void> {
  await queryInTime(client, { text: settingsSql(limits, "session") });
}

/**
 * Begins a transaction with limits of its own, because another program may get the session after
 * it.
 */
export async function beginLocally(client: ClientBase, limits: SessionLimits): Promise<void> {
  await client.query(settingsSql(limits, "transaction"));
}

/** The driver waits for the answer of `onConnect`, though its type does not say so. */
type AwaitedConfig = Omit<PoolConfig, "onConnect"> & {
  readonly onConnect?: (client: ClientBase) => Promise<void>;
};

/** A pool for everything that is not the ledger's hot path. Integer columns arrive as bigint. */
export function openPool(
  address: DatabaseAddress,
  log: Logger,
  clientsMax: number = DATABASE_CONNECTIONS_MAX,
): Pool {
  const limits = { statementTimeoutMs: POOL_STATEMENT_TIMEOUT_MS };
  const onConnect = (client: ClientBase): Promise<void> => beginSession(client, limits);
  return openPoolWith(log, {
    ...poolConfig(address, clientsMax),
    onConnect,
  });
}

/**
 * Opens connections through a pooler in transaction mode, which may give the session to another
 * program after each transaction. It sets no session parameters and prepares no named statements;
 * the program's settings belong to the role (`settleRole`).
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
    application_name: "tokenmarket",
  };
}

/** Statements with a name belong to a session, and this one has none of its own. */
function forgetNames(of: Pool | PoolClient): void {
  const target = of as { query: (...args: unknown[]) => unknown };
  const run = target.query.bind(of);
  target.query = (query, ...rest) =>
    typeof query === "object" && query !== null && Object.hasOwn(query, "name")
      ? run({ ...query, name: undefined }, ...rest)
      : run(query, ...rest);
}

/**
 * A few connections for long reports, none of which may wait longer for a slot or for a server that
 * does not even say that time is up. The program's settings are made in each transaction.
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
    query_timeout: statementTimeoutMs + REPORT_SILENCE_MS,
    application_name: "tokenmarket-console",
  });
}

/** Connections of a pool, and statements that wait for one. */
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
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    types: bigintTypes,
    allowExitOnIdle: true,
  });
  // An idle client may lose its server at any time; the next query opens a new one.
  pool.on("error", (error) => log.warn({ err: error }, "an idle database connection was lost"));
  // One that is lent may lose it between two statements: the next statement says so.
  pool.on("connect", (client) => client.on("error", () => undefined));
  return markFaults(pool);
}

/**
 * Runs a statement that a caller waits for. A connection that stays silent is given up after
 * `STORE_ANSWER_TIMEOUT_MS`: it may have died without a word, and the next statement gets a new one.
 */
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

/** Marks the faults of every statement on this pool and on its connections. */
function markFaults(pool: Pool): Pool {
  pool.on("connect", (client: PoolClient) => markMethod(client, "query"));
  markMethod(pool, "query");
  markMethod(pool, "connect");
  return pool;
}

function markMethod<K extends string>(of: Record<K, unknown> | object, name: K): void {
  const target = of as Record<K, (...args: unknown[]) => unknown>;
  const run = target[name].bind(of);
  target[name] = (...args) => {
    const answer = run(...args);
    return answer instanceof Promise ? answer.catch(rethrowMarked) : answer;
  };
}

function rethrowMarked(fault: unknown): never {
  throw isDatabaseAway(fault) ? asStoreFault(fault) : fault;
}

/**
 * SQLSTATE classes of a server that cannot do now what it can do at another time: connection,
 * authorization, transaction state, rollback, resources, locks, intervention, system.
 */
const AWAY_CLASSES: ReadonlySet<string> = new Set(["08", "28", "25", "40", "53", "55", "57", "58"]);

/** A fault that is no answer of the server is a connection that was lost, refused or silent. */
function isDatabaseAway(fault: unknown): boolean {
  if (!(fault instanceof DatabaseError)) return true;
  return AWAY_CLASSES.has(fault.code?.slice(0, 2) ?? "") || fault.severity === "FATAL";
}
