import type { Client } from "pg";

/** Whose objects become whose, in which database. */
export interface Handover {
  readonly database: string;
  readonly from: string;
  readonly to: string;
}

/** Sessions of an earlier version that still run keep their locks for seconds at most. */
const LOCK_TIMEOUT_MS = 30_000;

/**
 * Hands over all that `from` owns in the database, and the database, at once or not at all. Objects
 * of the system stay: `reassign owned` would refuse the role that the server was made with. `client`
 * is not connected yet, to that database, and ended here.
 */
export async function giveToProgram(client: Client, handover: Handover): Promise<void> {
  const { database, from, to } = handover;
  await client.connect();
  try {
    const { rows } = await client.query<{ command: string }>(COMMANDS_SQL, [from, to, database]);
    if (rows.length === 0) return;
    await client.query("begin");
    await client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
    for (const { command } of rows) await client.query(command);
    await client.query("commit");
  } finally {
    await client.end();
  }
}

/** A sequence of a column changes hands with its table, and so do indexes and row types. */
const COMMANDS_SQL = `
with own as (select oid from pg_roles where rolname = $1), outside as (
  select oid from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema')
select format('alter database %I owner to %I', datname, $2::text) as command
  from pg_database where datname = $3 and datdba in (table own)
union all
select format('alter schema %I owner to %I', nspname, $2::text)
  from pg_namespace where oid in (table outside) and nspowner in (table own)
union all
select format('alter %s %s owner to %I',
    case when relkind = 'c' then 'type' else 'table' end, c.oid::regclass, $2::text)
  from pg_class c
  where relnamespace in (table outside) and relowner in (table own)
    and relkind in ('r', 'p', 'v', 'm', 'S', 'f', 'c')
    and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass
      and d.objid = c.oid and c.relkind = 'S' and d.deptype in ('a', 'i'))
union all
select format('alter routine %s owner to %I', oid::regprocedure, $2::text)
  from pg_proc where pronamespace in (table outside) and proowner in (table own)
union all
select format('alter type %s owner to %I', oid::regtype, $2::text)
  from pg_type
  where typnamespace in (table outside) and typowner in (table own) and typtype in ('e', 'd', 'r')`;
