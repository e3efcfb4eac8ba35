import type { Pool, PoolClient } from "pg";

import { assert } from "../kernel/index.ts";
import { readBlocks } from "./audit/checkpoint-store.ts";

/** Thrown for a day whose facts cannot be read. The message says what to do. */
export class DayFactsFault extends Error {
  override readonly name = "DayFactsFault";
}

/**
 * Yields the facts of an ended day as JSON, one row per line: the rows of its attempts, then those
 * of their transfers and of that day's transfers without an attempt. Large integers are texts,
 * because many JSON readers would round them. All facts are read on one snapshot.
 */
export async function* dayFacts(pool: Pool, day: string): AsyncGenerator<string> {
  const client = await pool.connect();
  try {
    await client.query("begin isolation level repeatable read, read only");
    await client.query("set local statement_timeout = 0");
    // The table is locked before the snapshot is taken. Otherwise a day that is retired in between
    // would be missing.
    await client.query("lock table attempt in access share mode");
    const ids = await readIds(client, day);
    for (const fact of await planFacts(client, day, ids)) yield* readLines(client, fact);
  } finally {
    await client.query("rollback").catch(() => undefined);
    client.release();
  }
}

interface Ids {
  readonly first: bigint;
  readonly end: bigint;
}

async function readIds(client: PoolClient, day: string): Promise<Ids> {
  const { rows } = await client.query<{
    readonly first: bigint;
    readonly end: bigint;
    readonly is_over: boolean;
    readonly open: bigint;
    readonly is_retired: boolean;
  }>(DAY_SQL, [day]);
  const [row] = rows;
  assert(row !== undefined, "a day has ids");
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

interface Fact {
  readonly table: "attempt" | "transfer";
  readonly columns: string;
  readonly key: string;
  readonly where: string;
}

async function planFacts(client: PoolClient, day: string, ids: Ids): Promise<readonly Fact[]> {
  const ofDay = `attempt_id >= ${ids.first} and attempt_id < ${ids.end}`;
  const attempt = await listColumns(client, "attempt");
  const transfer = await listColumns(client, "transfer");
  const on = `at >= timestamptz '${day}Z' and at < timestamptz '${day}Z' + interval '1 day'`;
  return [
    { table: "attempt", columns: attempt, key: "attempt_id", where: ofDay },
    {
      table: "transfer",
      columns: transfer,
      key: "transfer_id",
      where: `(${ofDay}) or (attempt_id is null and ${on})`,
    },
  ];
}

async function listColumns(client: PoolClient, table: string): Promise<string> {
  const { rows } = await client.query<{ name: string; is_wide: boolean }>(COLUMNS_SQL, [table]);
  return rows
    .map(({ name, is_wide: isWide }) => `"${name}"${isWide ? "::text" : ""} as "${name}"`)
    .join(", ");
}

async function* readLines(client: PoolClient, fact: Fact): AsyncGenerator<string> {
  const { columns, table, key, where } = fact;
  const sql = `select row_to_json(f)::text
    from (select '${table}' as fact, ${columns} from ${table} where ${where} order by ${table}.${key}) f`;
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
