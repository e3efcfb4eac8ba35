import type { Pool, PoolClient } from "pg";

import { assert } from "../kernel/index.ts";

/** A day that cannot be written out, and what to do about it. */
export class DayFactsFault extends Error {
  override readonly name = "DayFactsFault";
}

const PAGE_ROWS = 2_000;

/**
 * The facts of a day that is over, one JSON document a line: its attempts, then the transfers of
 * these, then the transfers of no attempt that were made on it. Whole numbers of the database are
 * texts, because a reader's numbers may be smaller. Pages are read one after the other: of a day
 * whose attempts have all ended nothing changes but a late correction.
 */
export async function* dayFacts(pool: Pool, day: string): AsyncGenerator<string> {
  const client = await pool.connect();
  try {
    await client.query("begin isolation level repeatable read, read only");
    await client.query("set local statement_timeout = 0");
    // Before the snapshot: a day that is retired meanwhile would be missing in it.
    await client.query("lock table attempt in access share mode");
    const ids = await readIds(client, day);
    for (const fact of await planFacts(client, day, ids)) yield* pages(client, fact);
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
  readonly name: "attempt" | "transfer";
  readonly columns: string;
  readonly table: string;
  readonly key: string;
  readonly where: string;
}

async function planFacts(client: PoolClient, day: string, ids: Ids): Promise<readonly Fact[]> {
  const ofDay = `attempt_id >= ${ids.first} and attempt_id < ${ids.end}`;
  const attempt = await listColumns(client, "attempt");
  const transfer = await listColumns(client, "transfer");
  const on = `at >= timestamptz '${day}Z' and at < timestamptz '${day}Z' + interval '1 day'`;
  return [
    { name: "attempt", columns: attempt, table: "attempt", key: "attempt_id", where: ofDay },
    {
      name: "transfer",
      columns: transfer,
      table: "transfer",
      key: "transfer_id",
      where: `(${ofDay}) or (attempt_id is null and ${on})`,
    },
  ];
}

/** Each column as a member of the document: as a row, since a function takes at most 100 arguments. */
async function listColumns(client: PoolClient, table: string): Promise<string> {
  const { rows } = await client.query<{ name: string; is_wide: boolean }>(COLUMNS_SQL, [table]);
  return rows
    .map(({ name, is_wide: isWide }) => `"${name}"${isWide ? "::text" : ""} as "${name}"`)
    .join(", ");
}

/** By a cursor: what is sorted once is read to its end, a page in memory at a time. */
async function* pages(client: PoolClient, fact: Fact): AsyncGenerator<string> {
  const { name, columns, table, key, where } = fact;
  await client.query(`declare facts no scroll cursor for
    select row_to_json(f)::text as line
    from (select '${name}' as fact, ${columns} from ${table} where ${where} order by ${table}.${key}) f`);
  for (;;) {
    const { rows } = await client.query<{ line: string }>(`fetch ${PAGE_ROWS} from facts`);
    if (rows.length > 0) yield rows.map(({ line }) => `${line}\n`).join("");
    if (rows.length < PAGE_ROWS) break;
  }
  await client.query("close facts");
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
