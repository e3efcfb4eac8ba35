import { DatabaseError, type Pool, type PoolClient } from "pg";

import {
  USAGE_ROLLUP_BATCHES_MAX,
  USAGE_ROLLUP_DELAY_HOURS,
  USAGE_ROLLUP_ORGS_MAX,
} from "../../kernel/index.ts";
import { idsOfDay } from "./report-parts.ts";
import { rollListings, sumListingsOfDay } from "./roll-listings.ts";
import * as sql from "./usage-rollup-sql.ts";
import type { UsageRollup } from "./usage-rollup.ts";

/** The longest time that batches of the gateways may wait for a lock of a day's table. */
const LOCK_TIMEOUT_MS = 100;
const SQLSTATE_LOCK_TIMEOUT = "55P03";

/** Sums up the days of the journal that are over, an organization's day at a time. */
export class PostgresUsageRollup implements UsageRollup {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async rollSome(): Promise<boolean> {
    const client = await this.#pool.connect();
    let isWell = false;
    try {
      const lock = "select pg_try_advisory_lock(hashtext('tokenmarket usage sums')) as ours";
      const { rows } = await client.query<{ ours: boolean }>(lock);
      const isOurs = rows[0]?.ours === true;
      const hasMore = isOurs && ((await rollBatches(client)) || (await rollListings(client)));
      await client.query("select pg_advisory_unlock_all()");
      isWell = true;
      return hasMore;
    } finally {
      // Closed, not released, after a fault: its lock goes with it.
      client.release(!isWell);
    }
  }
}

/** False: nothing is left to do. */
async function rollBatches(client: PoolClient): Promise<boolean> {
  for (const forget of sql.forgetRetiredSql) await client.query(forget);
  for (let batches = 0; batches < USAGE_ROLLUP_BATCHES_MAX; batches++) {
    if (!(await rollBatch(client))) return false;
  }
  return true;
}

/** False: nothing is due, or not now. */
async function rollBatch(client: PoolClient): Promise<boolean> {
  const { rows: stale } = await client.query<{ day: string; org_id: string }>(sql.STALE_ORGS_SQL, [
    USAGE_ROLLUP_ORGS_MAX,
  ]);
  const [first] = stale;
  if (first !== undefined) {
    const ofDay = stale.filter((row) => row.day === first.day);
    await rollOrgs(
      client,
      first.day,
      ofDay.map((row) => row.org_id),
    );
    return true;
  }
  const { rows } = await client.query<{ day: string; is_watched: boolean }>(sql.DUE_DAY_SQL, [
    `${USAGE_ROLLUP_DELAY_HOURS} hours`,
  ]);
  const [due] = rows;
  if (due === undefined) return false;
  if (!due.is_watched) return await watchDay(client, due.day);
  const ids = idsOfDay(due.day);
  const orgs = await client.query<{ org_id: string }>(sql.UNROLLED_ORGS_SQL, [
    due.day,
    ids.first,
    ids.end,
    USAGE_ROLLUP_ORGS_MAX,
  ]);
  if (orgs.rows.length === 0) await client.query(sql.FINISH_DAY_SQL, [due.day]);
  else {
    await rollOrgs(
      client,
      due.day,
      orgs.rows.map((row) => row.org_id),
    );
  }
  return true;
}

/** Committed before anything of the day is summed up, so that no change is ever missed. */
async function watchDay(client: PoolClient, day: string): Promise<boolean> {
  try {
    return await inTransaction(client, "begin", async () => {
      await client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
      await client.query(sql.watchDaySql(day));
      await client.query(sql.REMEMBER_DAY_SQL, [day]);
      return true;
    });
  } catch (fault) {
    // Another process is writing into this day, so it is retried next time.
    if (fault instanceof DatabaseError && fault.code === SQLSTATE_LOCK_TIMEOUT) return false;
    throw fault;
  }
}

/**
 * All on one snapshot: a change that it does not see is committed later, and its note, which it
 * does not see either, stays.
 */
async function rollOrgs(client: PoolClient, day: string, orgIds: string[]): Promise<void> {
  const ids = idsOfDay(day);
  await inTransaction(client, "begin isolation level repeatable read", async () => {
    for (const forget of sql.FORGET_SQL) await client.query(forget, [orgIds, day]);
    await client.query(sql.ROLL_SQL, [orgIds, day, ids.first, ids.end]);
    await sumListingsOfDay(client, { orgIds, day });
  });
}

async function inTransaction<T>(
  client: PoolClient,
  begin: string,
  work: () => Promise<T>,
): Promise<T> {
  await client.query(begin);
  try {
    const outcome = await work();
    await client.query("commit");
    return outcome;
  } catch (fault) {
    await client.query("rollback").catch(() => undefined);
    throw fault;
  }
}
