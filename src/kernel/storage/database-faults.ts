import { DatabaseError, type Pool, type PoolClient } from "pg";

import { asStoreFault } from "../core/store-fault.ts";

/** Marks the faults of every statement on this pool and on its connections. */
export function markFaults(pool: Pool): Pool {
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

/** What is not an answer of the server is a connection that was lost, refused or silent. */
function isDatabaseAway(fault: unknown): boolean {
  if (!(fault instanceof DatabaseError)) return true;
  return AWAY_CLASSES.has(fault.code?.slice(0, 2) ?? "") || fault.severity === "FATAL";
}
