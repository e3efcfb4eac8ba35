import type { PoolClient } from "pg";

import type { Migration } from "./migration-files.ts";
import { SchemaFault } from "./schema-state.ts";
import { sqlStatements } from "./sql-statements.ts";

/** An index that a step builds while writes go on. */
interface ConcurrentIndex {
  readonly index: string;
  readonly table: string;
  readonly isUnique: boolean;
  /** What follows the table: columns, condition, settings. */
  readonly definition: string;
}

const INDEX = /^create (unique )?index concurrently (\w+)\s+on (\w+)\s*([^]+)$/i;

/**
 * Builds the indexes of a step. One that is whole is left alone; one that a killed run or an error
 * left invalid costs every write and serves no query, so it is dropped and built again.
 */
export async function buildConcurrently(
  client: PoolClient,
  step: Migration,
  lockTimeoutMs: number,
): Promise<void> {
  for (const index of indexesOf(step)) {
    const isPartitioned = await isPartitionedTable(client, index.table);
    if (!isPartitioned) await build(client, index);
    else await buildOnPartitions(client, index, lockTimeoutMs);
  }
}

function indexesOf({ name, text }: Migration): readonly ConcurrentIndex[] {
  return sqlStatements(text).map((statement) => {
    const [, unique, index, table, definition] = INDEX.exec(statement) ?? [];
    if (index === undefined || table === undefined || definition === undefined) {
      throw new SchemaFault(
        `the schema step ${name} may only \`create index concurrently NAME on TABLE (…)\``,
      );
    }
    return { index, table, definition, isUnique: unique !== undefined };
  });
}

async function build(client: PoolClient, index: ConcurrentIndex): Promise<void> {
  await client.query("set lock_timeout = 0");
  const found = await stateOf(client, index);
  if (found === "valid") return;
  if (found === "invalid") await client.query(`drop index concurrently ${index.index}`);
  const { isUnique, table, definition } = index;
  await client.query(
    `create ${isUnique ? "unique " : ""}index concurrently ${index.index} on ${table} ${definition}`,
  );
  if ((await stateOf(client, index)) !== "valid") {
    throw new SchemaFault(
      `the index ${index.index} was built and is not valid; run \`tokenmarket migrate\` again`,
    );
  }
}

/**
 * The server builds no index of a partitioned table concurrently. So the table gets one that counts
 * for new partitions only and takes a moment; each partition builds its own, which then joins it.
 */
async function buildOnPartitions(
  client: PoolClient,
  index: ConcurrentIndex,
  lockTimeoutMs: number,
): Promise<void> {
  // Only what is not concurrent makes others wait behind it, so only that gives up.
  const inTime = async (sql: string): Promise<void> => {
    await client.query(`set lock_timeout = ${lockTimeoutMs}`);
    await client.query(sql);
  };
  const { index: name, table, definition, isUnique } = index;
  const unique = isUnique ? "unique " : "";
  if ((await stateOf(client, index)) === "absent") {
    await inTime(`create ${unique}index ${name} on only ${table} ${definition}`);
  }
  const { rows } = await client.query<{ partition: string }>(UNINDEXED_SQL, [table, name]);
  for (const { partition } of rows) {
    const own = { ...index, index: `${partition}_${name}`, table: partition };
    await build(client, own);
    await inTime(`alter index ${name} attach partition ${own.index}`);
  }
  if ((await stateOf(client, index)) !== "valid") {
    throw new SchemaFault(
      `the index ${name} lacks a partition that was made meanwhile; run \`tokenmarket migrate\` again`,
    );
  }
}

async function isPartitionedTable(client: PoolClient, table: string): Promise<boolean> {
  const { rows } = await client.query<{ relkind: string }>(
    "select relkind from pg_class where oid = to_regclass($1)",
    [table],
  );
  return rows[0]?.relkind === "p";
}

async function stateOf(
  client: PoolClient,
  { index, table }: ConcurrentIndex,
): Promise<"absent" | "valid" | "invalid"> {
  const { rows } = await client.query<{ indisvalid: boolean }>(
    `select indisvalid from pg_index
    where indexrelid = to_regclass($1) and indrelid = to_regclass($2)`,
    [index, table],
  );
  if (rows[0] === undefined) return "absent";
  return rows[0].indisvalid ? "valid" : "invalid";
}

/** Partitions of the table whose index has not joined that of the table. */
const UNINDEXED_SQL = `
  select p.inhrelid::regclass::text as partition
  from pg_inherits p
  where p.inhparent = to_regclass($1) and not exists (
    select from pg_inherits i join pg_index x on x.indexrelid = i.inhrelid
    where i.inhparent = to_regclass($2) and x.indrelid = p.inhrelid)
  order by 1`;
