import type { Pool, PoolClient } from "pg";

import { Fault, liftTimeLimits, queryOne } from "../kernel/index.ts";
import { readBlocks } from "./audit/checkpoint-store.ts";

/** Thrown for a day whose facts cannot be read. The message says why. */
export class DayFactsFault extends Fault {}

/**
 * Yields the facts of an ended day as JSON, one row per line: the rows of its attempts, then those
 * of their transfers and of that day's transfers without an attempt. Large integers are texts,
 * because many JSON readers would round them. All facts are read on one snapshot.
 */
export async function* dayFacts(pool: Pool, day: string): AsyncGenerator<string> {
  const client = await pool.connect();
  try {
    await client.query("begin isolation level repeatable read, read only");
    await liftTimeLimits(client);
    // The table is locked before the snapshot: a day that is retired in between would be missing.
    await client.query("lock table attempt in access share mode");
    const { first, end } = await readIds(client, day);
    const ofDay = `attempt_id >= ${first} and attempt_id < ${end}`;
    yield* readLines(client, "attempt", ofDay);
    const on = `at >= timestamptz '${day}Z' and at < timestamptz '${day}Z' + interval '1 day'`;
    yield* readLines(client, "transfer", `(${ofDay}) or (attempt_id is null and ${on})`);
  } finally {
    await client.query("rollback").catch(() => undefined);
    client.release();
  }
}

interface DayRow {
  readonly first: bigint;
  readonly end: bigint;
  readonly is_over: boolean;
  readonly open: bigint;
  readonly is_retired: boolean;
}

async function readIds(client: PoolClient, day: string): Promise<DayRow> {
  const row = await queryOne<DayRow>(client, DAY_SQL, [day]);
  if (!row.is_over) throw new DayFactsFault(`${day} is not over yet`);
  if (row.open > 0n)
    throw new DayFactsFault(`${row.open} attempts of ${day} are open; wait for their end`);
  if (row.is_retired) {
    throw new DayFactsFault(
      `${day} is not in the journal any more; its export by ledger retire has it`,
    );
  }
  return row;
}

async function* readLines(
  client: PoolClient,
  table: "attempt" | "transfer",
  where: string,
): AsyncGenerator<string> {
  const { rows } = await client.query<{ name: string; is_wide: boolean }>(COLUMNS_SQL, [table]);
  const columns = rows.map(
    ({ name, is_wide: isWide }) => `"${name}"${isWide ? "::text" : ""} as "${name}"`,
  );
  const sql = `select row_to_json(f)::text from (
    select '${table}' as fact, ${columns.join(", ")} from ${table} where ${where}
    order by ${table}.${table}_id) f`;
  for await (const block of readBlocks(client, sql)) {
    yield block.map(([line]) => `${line}\n`).join("");
  }
}

const DAY_SQL = `
  select d.first, d.last as end, clock_timestamp() > d.ends as is_over,
    (select count(*) from hold where not annulled and attempt_id < d.last and attempt_id >= d.first)
      as open,
    exists (select from retired_day where day = $1::date) as is_retired
  from (
    select attempt_id_at($1::date::timestamp at time zone 'utc') as first,
      attempt_id_at(($1::date + 1)::timestamp at time zone 'utc') as last,
      ($1::date + 1)::timestamp at time zone 'utc' as ends
  ) d`;

const COLUMNS_SQL = `
  select attname::text as name, atttypid in ('bigint'::regtype, 'numeric'::regtype) as is_wide
  from pg_attribute
  where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`;
