import { DatabaseError, type Pool, type PoolClient } from "pg";
import { beginLocally } from "../../kernel/index.ts";
import { ReportTimeout } from "./usage-reports.ts";

const SQLSTATE_QUERY_CANCELED = "57014";

export interface ReportRun {
  /** Of each statement. */
  readonly statementTimeoutMs: number;
  /** Asked on the report's own connection; false: nothing is run on it. */
  readonly beforeBegin?: (client: PoolClient) => Promise<boolean>;
}

/**
 * Reports on one snapshot each; one core each at most, since the gateway's batches come first.
 * Undefined: `beforeBegin` said no.
 */
export async function runReportQuery<T>(
  pool: Pool,
  query: (client: PoolClient) => Promise<T>,
  { statementTimeoutMs, beforeBegin }: ReportRun,
): Promise<{ readonly value: T } | undefined> {
  const client = await connect(pool);
  let isWell = false;
  try {
    if (beforeBegin !== undefined && !(await beforeBegin(client))) {
      isWell = true;
      return undefined;
    }
    await client.query("begin isolation level repeatable read read only");
    await beginLocally(client, { statementTimeoutMs });
    await client.query("set local work_mem = '64MB'");
    const value = await query(client);
    await client.query("commit");
    isWell = true;
    return { value };
  } catch (fault) {
    // Only a database that answered can be asked again.
    if (fault instanceof DatabaseError) {
      isWell = await client.query("rollback").then(
        () => true,
        () => false,
      );
    }
    throw asTimeout(fault);
  } finally {
    client.release(!isWell);
  }
}

async function connect(pool: Pool): Promise<PoolClient> {
  try {
    return await pool.connect();
  } catch (fault) {
    throw asTimeout(fault);
  }
}

/** Also when other reports held every connection for too long. */
function asTimeout(fault: unknown): unknown {
  const isCanceled = fault instanceof DatabaseError && fault.code === SQLSTATE_QUERY_CANCELED;
  const isWaitOver =
    fault instanceof Error &&
    /^(timeout exceeded when trying to connect|Query read timeout)$/.test(fault.message);
  if (!isCanceled && !isWaitOver) return fault;
  return new ReportTimeout("this report took too long; choose a shorter range", {
    cause: fault,
  });
}
