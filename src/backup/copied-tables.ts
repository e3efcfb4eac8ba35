import type { Client } from "pg";

import { BackupFault } from "./backup-manifest.ts";

/** A table whose rows are copied. */
export interface CopiedTable {
  readonly name: string;
  /** Without those that the database makes itself. */
  readonly columns: readonly string[];
  /** In whose order the rows are read; empty: there is no key. */
  readonly primaryKey: readonly string[];
  /** Tables whose rows must be there first. */
  readonly needs: readonly string[];
}

/** What the migrations themselves write down: equal on both sides, since the schemas are. */
const BOOKKEEPING = new Set(["schema_migration", "schema_step"]);
/** The change log: the steps of the schema are in it from the start. */
export const CHANGES = "change";
/** Tables that have a row before anything has happened; it is replaced. */
export const SEEDED: ReadonlySet<string> = new Set([
  CHANGES,
  "console_secret",
  "invitation_hour",
  "settlement_horizon",
  "verdict_version",
]);

/** Every table of the schema, each behind those that it refers to; partitions are in their table. */
export async function readTables(client: Client): Promise<readonly CopiedTable[]> {
  const { rows } = await client.query<CopiedTable>(TABLES_SQL);
  return inOrder(rows.filter(({ name }) => !BOOKKEEPING.has(name)));
}

/** Each table behind those that it needs. Throws where two need each other. */
export function inOrder(tables: readonly CopiedTable[]): readonly CopiedTable[] {
  const ordered: CopiedTable[] = [];
  const placed = new Set<string>();
  for (let waiting = [...tables]; waiting.length > 0;) {
    const ready = waiting.filter(({ name, needs }) =>
      needs.every((need) => need === name || placed.has(need)),
    );
    if (ready.length === 0) {
      const names = waiting.map(({ name }) => name).join(", ");
      throw new BackupFault(`these tables refer to each other: ${names}`);
    }
    for (const table of ready) placed.add(table.name);
    ordered.push(...ready);
    waiting = waiting.filter(({ name }) => !placed.has(name));
  }
  return ordered;
}

const TABLES_SQL = `
select c.relname as name,
  (select array_agg(a.attname::text order by a.attnum) from pg_attribute a
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '')
    as columns,
  coalesce((select array_agg(a.attname::text order by k.at)
    from pg_index i cross join lateral unnest(i.indkey) with ordinality k (attnum, at)
      join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
    where i.indrelid = c.oid and i.indisprimary), '{}') as "primaryKey",
  coalesce((select array_agg(distinct f.relname::text)
    from pg_constraint k join pg_class f on f.oid = k.confrelid
    where k.conrelid = c.oid and k.contype = 'f'), '{}') as needs
from pg_class c
where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
  and not c.relispartition
order by c.relname`;
