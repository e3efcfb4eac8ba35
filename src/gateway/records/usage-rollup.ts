import { DatabaseError, type Pool, type PoolClient } from "pg";

import {
  Job,
  lockedConnection,
  type Logger,
  type Public,
  transact,
  unlockConnection,
  USAGE_ROLLUP_BATCHES_MAX,
  USAGE_ROLLUP_DELAY_HOURS,
  USAGE_ROLLUP_EVERY_MS,
  USAGE_ROLLUP_ORGS_MAX,
  USAGE_ROLLUP_PAUSE_MS,
} from "../../kernel/index.ts";
import * as listingSql from "./listing-sums-sql.ts";
import { idsOfDay, idsOfHour } from "./report-parts.ts";
import * as sql from "./usage-rollup-sql.ts";

/** Every process may run one; the store lets one of them work at a time. */
export function startUsageRollup(options: { readonly rollup: UsageRollup; readonly log: Logger }): {
  close(): Promise<void>;
} {
  const { rollup, log } = options;
  let pausesLeft = 0;
  const job = new Job(
    USAGE_ROLLUP_PAUSE_MS,
    async () => {
      pausesLeft -= 1;
      if (pausesLeft > 0) return;
      pausesLeft = USAGE_ROLLUP_EVERY_MS / USAGE_ROLLUP_PAUSE_MS;
      if (await rollup.rollSome()) pausesLeft = 0;
    },
    (err) => log.warn({ err }, "days of usage could not be summed up; this will be retried"),
  );
  job.start();
  return job;
}

/** The longest time that batches of the gateways may wait for a lock of a day's table. */
const LOCK_TIMEOUT_MS = 100;
const SQLSTATE_LOCK_TIMEOUT = "55P03";
const ON_ONE_SNAPSHOT = "begin isolation level repeatable read";

/**
 * Sums up the days of the journal that are over, an organization's day at a time, so that long
 * reports are quick. Reports are the same without it.
 */
export class PostgresUsageRollup {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /**
   * A bounded piece of what is due; false: nothing is left, or another process is at it. Ended
   * anywhere, it is simply done again.
   */
  async rollSome(): Promise<boolean> {
    const client = await lockedConnection(this.#pool, "tokenmarket usage sums");
    if (client === undefined) return false;
    let isSpent = true;
    try {
      const hasMore = (await rollBatches(client)) || (await rollListings(client));
      isSpent = false;
      return hasMore;
    } finally {
      // Closed, not released, after a fault: its state is not known.
      await unlockConnection(client, isSpent);
    }
  }
}

export type UsageRollup = Public<PostgresUsageRollup>;

/** False: nothing is left to do. */
async function rollBatches(client: PoolClient): Promise<boolean> {
  for (const forget of sql.forgetRetiredSql) await client.query(forget);
  for (let batches = 0; batches < USAGE_ROLLUP_BATCHES_MAX; batches++) {
    if (!(await rollBatch(client))) return false;
  }
  return true;
}

interface OrgRow {
  readonly org_id: string;
}

/** False: nothing is due, or not now. */
async function rollBatch(client: PoolClient): Promise<boolean> {
  const { rows: stale } = await client.query<OrgRow & { day: string }>(sql.STALE_ORGS_SQL, [
    USAGE_ROLLUP_ORGS_MAX,
  ]);
  const day = stale[0]?.day;
  if (day !== undefined) {
    const ofDay = stale.filter((row) => row.day === day);
    return await rollOrgs(client, day, ofDay);
  }
  const { rows } = await client.query<{ day: string; is_watched: boolean }>(sql.DUE_DAY_SQL, [
    `${USAGE_ROLLUP_DELAY_HOURS} hours`,
  ]);
  const [due] = rows;
  if (due === undefined) return false;
  if (!due.is_watched) return await watchDay(client, due.day);
  const ids = idsOfDay(due.day);
  const unrolled = [due.day, ids.first, ids.end, USAGE_ROLLUP_ORGS_MAX];
  const { rows: orgs } = await client.query<OrgRow>(sql.UNROLLED_ORGS_SQL, unrolled);
  if (orgs.length > 0) return await rollOrgs(client, due.day, orgs);
  await client.query(sql.FINISH_DAY_SQL, [due.day]);
  return true;
}

/** Committed before anything of the day is summed up, so that no change is ever missed. */
async function watchDay(client: PoolClient, day: string): Promise<boolean> {
  try {
    await transact(client, async () => {
      await client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
      await client.query(sql.watchDaySql(day));
      await client.query(sql.REMEMBER_DAY_SQL, [day]);
    });
    return true;
  } catch (fault) {
    // Another process is writing into this day, so it is retried next time.
    if (fault instanceof DatabaseError && fault.code === SQLSTATE_LOCK_TIMEOUT) return false;
    throw fault;
  }
}

/**
 * All on one snapshot, with the sums of its listings: a change that it does not see is committed
 * later, and its note, which it does not see either, stays.
 */
async function rollOrgs(
  client: PoolClient,
  day: string,
  orgs: readonly OrgRow[],
): Promise<boolean> {
  const orgIds = orgs.map((row) => row.org_id);
  const ids = idsOfDay(day);
  const forget = [...sql.FORGET_SQL, ...listingSql.FORGET_DAY_SQL];
  await transact(
    client,
    async () => {
      for (const text of forget) await client.query(text, [orgIds, day]);
      for (const text of [sql.ROLL_SQL, listingSql.SUM_DAY_SQL]) {
        await client.query(text, [orgIds, day, ids.first, ids.end]);
      }
    },
    ON_ONE_SNAPSHOT,
  );
  return true;
}

/**
 * Sums up how listings served: a bounded piece of what is due. False: nothing is left. Only days
 * whose every later change leaves a note are summed up for good; of the others, hours are.
 */
async function rollListings(client: PoolClient): Promise<boolean> {
  if ((await rollHour(client)) || (await publishDay(client))) return true;
  for (const prune of listingSql.PRUNE_SQL) await client.query(prune);
  return false;
}

async function rollHour(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ hour: Date; seconds: bigint }>(listingSql.DUE_HOUR_SQL);
  const [due] = rows;
  if (due === undefined) return false;
  const ids = idsOfHour(Number(due.seconds) * 1_000);
  await transact(
    client,
    async () => {
      await client.query(listingSql.FORGET_HOUR_SQL, [due.hour]);
      await client.query(listingSql.FOLD_HOUR_SQL, [ids.first, ids.end]);
      await client.query(listingSql.MARK_HOUR_SQL, [due.hour]);
    },
    ON_ONE_SNAPSHOT,
  );
  return true;
}

/** Published once: requests that end later are not shown across organizations. */
async function publishDay(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ day: string }>(listingSql.UNPUBLISHED_DAY_SQL);
  const [due] = rows;
  if (due === undefined) return false;
  await transact(
    client,
    async () => {
      await client.query(listingSql.PUBLISH_DAY_SQL, [due.day]);
      await client.query(listingSql.MARK_PUBLISHED_SQL, [due.day]);
    },
    ON_ONE_SNAPSHOT,
  );
  return true;
}
