import type { PoolClient } from "pg";

import * as sql from "./listing-sums-sql.ts";
import { idsOfDay, idsOfHour } from "./report-parts.ts";

/**
 * Sums up how listings served: a bounded piece of what is due. False: nothing is left. Only days
 * whose every later change leaves a note are summed up for good; of the others, hours are.
 */
export async function rollListings(client: PoolClient): Promise<boolean> {
  if ((await rollHour(client)) || (await publishDay(client))) return true;
  for (const prune of sql.PRUNE_SQL) await client.query(prune);
  return false;
}

async function rollHour(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ hour: Date; seconds: bigint }>(sql.DUE_HOUR_SQL);
  const [due] = rows;
  if (due === undefined) return false;
  const ids = idsOfHour(Number(due.seconds) * 1_000);
  await onOneSnapshot(client, async () => {
    await client.query(sql.FORGET_HOUR_SQL, [due.hour]);
    await client.query(sql.FOLD_HOUR_SQL, [ids.first, ids.end]);
    await client.query(sql.MARK_HOUR_SQL, [due.hour]);
  });
  return true;
}

/** Sums up the listings of organizations, with the day's other sums and on their snapshot. */
export async function sumListingsOfDay(
  client: PoolClient,
  { orgIds, day }: { readonly orgIds: readonly string[]; readonly day: string },
): Promise<void> {
  const ids = idsOfDay(day);
  for (const forget of sql.FORGET_DAY_SQL) await client.query(forget, [orgIds, day]);
  await client.query(sql.SUM_DAY_SQL, [orgIds, day, ids.first, ids.end]);
}

/** Published once: requests that end later are not shown across organizations. */
async function publishDay(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ day: string }>(sql.UNPUBLISHED_DAY_SQL);
  const [due] = rows;
  if (due === undefined) return false;
  await onOneSnapshot(client, async () => {
    await client.query(sql.PUBLISH_DAY_SQL, [due.day]);
    await client.query(sql.MARK_PUBLISHED_SQL, [due.day]);
  });
  return true;
}

async function onOneSnapshot(client: PoolClient, work: () => Promise<void>): Promise<void> {
  await client.query("begin isolation level repeatable read");
  try {
    await work();
    await client.query("commit");
  } catch (fault) {
    await client.query("rollback").catch(() => undefined);
    throw fault;
  }
}
