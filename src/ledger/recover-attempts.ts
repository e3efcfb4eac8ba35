import type { Pool } from "pg";

import { assert, type AttemptId, isStoreFault, columns, type Row } from "../kernel/index.ts";
import { heldColumns } from "./attempt-columns.ts";
import type { StuckAttempts } from "./stuck-attempts.ts";

const BLOCK_ROWS = 500;

/**
 * Closes what dead instances left open, a block in one transaction. Where a block breaks a rule of
 * the books, its halves are tried, down to the one attempt that is stuck: it keeps its hold, and
 * no other waits for it. Those that are known to be stuck are not tried again.
 */
export async function recoverOpenAttempts(pool: Pool, stuck: StuckAttempts): Promise<number> {
  if (stuck.size > 0) return await recoverOneByOne(pool, stuck);
  let recovered = 0;
  for (;;) {
    const block = await recoverBlock(pool);
    // The block that failed is found again, with what the ones before it have left.
    if (block === undefined) return recovered + (await recoverOneByOne(pool, stuck));
    recovered += block.closed;
    if (block.seen < BLOCK_ROWS) return recovered;
  }
}

interface Recovered {
  readonly closed: number;
  readonly seen: number;
}

/** Undefined: one of its attempts breaks a rule, and none was closed. */
async function recoverBlock(pool: Pool): Promise<Recovered | undefined> {
  try {
    const { rows } = await pool.query<Recovered>(RECOVER_SQL, [BLOCK_ROWS]);
    const [row] = rows;
    assert(row !== undefined, "recover_attempts answers one row");
    return row;
  } catch (fault) {
    if (isStoreFault(fault)) throw fault;
    return undefined;
  }
}

async function recoverOneByOne(pool: Pool, stuck: StuckAttempts): Promise<number> {
  const open = new Set<AttemptId>();
  let recovered = 0;
  let after: AttemptId | undefined;
  for (;;) {
    const { rows } = await pool.query<Row>(FIND_SQL, [after ?? 0n, BLOCK_ROWS]);
    const found = rows.map((row) => foundColumns.read(row).attemptId);
    for (const attemptId of found) open.add(attemptId);
    const untried = found.filter((attemptId) => !stuck.has(attemptId));
    if (untried.length > 0) recovered += await closeOrSplit(pool, untried, stuck);
    after = found.at(-1);
    if (found.length < BLOCK_ROWS) break;
  }
  stuck.keepOnly(open);
  return recovered;
}

async function closeOrSplit(
  pool: Pool,
  attempts: readonly AttemptId[],
  stuck: StuckAttempts,
): Promise<number> {
  try {
    const { rows } = await pool.query<{ closed: number }>(CLOSE_SQL, [attempts]);
    const [row] = rows;
    assert(row !== undefined, "close_unobserved answers one row");
    return row.closed;
  } catch (fault) {
    const [only, ...more] = attempts;
    if (isStoreFault(fault) || only === undefined) throw fault;
    if (more.length === 0) {
      stuck.add(only, fault);
      return 0;
    }
  }
  const half = attempts.length >> 1;
  const first = await closeOrSplit(pool, attempts.slice(0, half), stuck);
  return first + (await closeOrSplit(pool, attempts.slice(half), stuck));
}

const RECOVER_SQL = "select closed, seen from recover_attempts($1)";

const foundColumns = columns<{ readonly attemptId: AttemptId }>({
  attemptId: heldColumns.attemptId,
});

/** What `recover_attempts` finds, from one attempt on. */
const FIND_SQL = `
  select h.attempt_id from hold h join instance i on i.instance_id = h.instance_id
  where h.epoch < i.epoch and not h.resumable and not h.annulled and h.attempt_id > $1
  order by h.attempt_id limit $2`;

const CLOSE_SQL =
  "select close_unobserved($1, 'unknown_after_crash', 'unknown_after_crash', null, null) as closed";
