import {
  Pool,
  types,
  type CustomTypesConfig,
  type PoolClient,
  type PoolConfig,
  type QueryConfig,
  type QueryResult,
  type QueryResultRow,
} from "pg";
import {
  DATABASE_CONNECTIONS_MAX,
  type Logger,
  REPORT_CONNECTIONS_MAX,
  STORE_ANSWER_TIMEOUT_MS,
} from "../core/index.ts";
import { markFaults } from "./database-faults.ts";

const CONNECT_TIMEOUT_MS = 5_000;
const POOL_STATEMENT_TIMEOUT_MS = 30_000;
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

/** A pool for everything that is not the ledger's hot path. Integer columns arrive as bigint. */
export function openPool(
  connectionString: string,
  log: Logger,
  clientsMax: number = DATABASE_CONNECTIONS_MAX,
): Pool {
  return openPoolWith(log, {
    connectionString,
    max: clientsMax,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: POOL_STATEMENT_TIMEOUT_MS,
    application_name: "tokenmarket",
  });
}

/**
 * A few connections for long reports, of which none may take longer, nor wait longer for a slot.
 */
export function openReportPool(
  connectionString: string,
  log: Logger,
  statementTimeoutMs: number,
): Pool {
  return openPoolWith(log, {
    connectionString,
    max: REPORT_CONNECTIONS_MAX,
    connectionTimeoutMillis: statementTimeoutMs + CONNECT_TIMEOUT_MS,
    statement_timeout: statementTimeoutMs,
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

function openPoolWith(log: Logger, config: PoolConfig): Pool {
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
  database: Pool | PoolClient,
  query: QueryConfig,
): Promise<QueryResult<R>> {
  const inTime: QueryConfig & { readonly query_timeout: number } = {
    ...query,
    query_timeout: STORE_ANSWER_TIMEOUT_MS,
  };
  return database.query<R>(inTime);
}
