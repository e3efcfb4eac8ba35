import { randomInt } from "node:crypto";

import { DatabaseError, type PoolClient } from "pg";

import { Fault } from "../core/fault.ts";
import type { Logger } from "../core/log.ts";
import { type DatabaseAddress, openSharedPool, queryInTime, queryOneInTime } from "./connection.ts";

export const SERVER_VERSION_MIN: number = 15;

/** Thrown if the database answers but cannot be used. The message tells the operator what to do. */
export class DatabaseUnfitFault extends Fault {}

/** These addresses contain passwords: never print them. */
export interface ServerAddresses {
  /** The address without a pooler, or with one whose sessions belong to this program alone. */
  readonly direct: DatabaseAddress;
  /** The name of the setting that contains the direct address. Messages mention it. */
  readonly directSetting: "DATABASE_URL" | "DATABASE_DIRECT_URL";
  /** The same database through a pooler in transaction mode; undefined without a pooler. */
  readonly shared: DatabaseAddress | undefined;
  /** True if the operator declares that the storage is durable even without `fsync` (Neon, ZFS). */
  readonly isStorageDurable: boolean;
}

/**
 * Throws a `DatabaseUnfitFault` unless the server is new enough and durable, this program's tables
 * are in no other schema than `public`, the sessions of the direct address belong to this program,
 * and both addresses lead to one database. Changes nothing.
 */
export async function checkServer(addresses: ServerAddresses, log: Logger): Promise<void> {
  const { direct, directSetting, shared } = addresses;
  // This pool changes no settings: behind a pooler, the sessions may belong to other programs.
  const pool = openSharedPool(direct, log, 2);
  const connecting = [pool.connect(), pool.connect()] as const;
  try {
    const [first, second] = await Promise.all(connecting);
    await assertVersion(first);
    await assertSettings(first, addresses.isStorageDurable);
    if (!(await hasOwnSessions(first, second))) throw noSessions(directSetting);
    if (shared !== undefined) await assertSameDatabase(first, shared, log);
  } finally {
    // The connections are closed, not returned, which also ends a transaction or lock that is left
    // over. Each is closed even if the other failed: `end` would wait for an open one forever.
    for (const opened of await Promise.allSettled(connecting)) {
      if (opened.status === "fulfilled") opened.value.release(true);
    }
    await pool.end();
  }
}

async function assertVersion(client: PoolClient): Promise<void> {
  const { number, name } = await queryOneInTime<{ number: number; name: string }>(
    client,
    VERSION_SQL,
  );
  if (number >= SERVER_VERSION_MIN * 10_000) return;
  throw new DatabaseUnfitFault(
    `the database is PostgreSQL ${name}, and tokenmarket needs ${SERVER_VERSION_MIN} or newer; upgrade ` +
      "the server, or name another one in DATABASE_URL",
  );
}

const VERSION_SQL = `select current_setting('server_version_num')::integer as number,
  current_setting('server_version') as name`;

async function assertSettings(client: PoolClient, isStorageDurable: boolean): Promise<void> {
  const { rows } = await queryInTime<{ name: string; value: string }>(client, {
    text: SERVER_SETTINGS_SQL,
  });
  const wrong = rows.filter(({ name }) => !(isStorageDurable && STORAGE_SETTINGS.has(name)));
  if (wrong.length > 0) {
    const named = wrong.map(({ name, value }) => `${name} = ${value}`).join(" and ");
    throw new DatabaseUnfitFault(
      `the database server runs with ${named}, so that what it has committed may be lost or wrong; set ` +
        "it back to its default. Storage that keeps every commit by other means may be declared with " +
        "database.storage_is_durable (docs/operating/databases.md)",
    );
  }
  const { schema } = await queryOneInTime<{ schema: string | null }>(client, OTHER_SCHEMA_SQL);
  if (schema === null) return;
  throw new DatabaseUnfitFault(
    `the tables of tokenmarket are in the schema ${schema} of the database and not in public; ` +
      "move them there, or name a database of its own in DATABASE_URL",
  );
}

const STORAGE_SETTINGS: ReadonlySet<string> = new Set(["fsync", "full_page_writes"]);

const SERVER_SETTINGS_SQL = `select name, current_setting(name) as value
  from (values ('fsync', 'on'), ('full_page_writes', 'on'), ('session_replication_role', 'origin'))
    as needed (name, value)
  where current_setting(name) <> value`;

/** Selects the schema of this program's tables if new tables in `public` would hide them. */
const OTHER_SCHEMA_SQL = `select case when bool_and(schemaname <> 'public') then min(schemaname) end as schema
  from pg_tables where tablename = 'schema_step'`;

/** True if each connection keeps a session of its own, without settings that the other made. */
async function hasOwnSessions(first: PoolClient, second: PoolClient): Promise<boolean> {
  const mark = String(randomInt(2 ** 31));
  const own = await queryOneInTime<Session>(first, MARK_SQL, [mark]);
  const others = await queryOneInTime<Session>(second, READ_SQL);
  if (others.mark === mark || others.pid === own.pid) return false;
  // A pooler in transaction mode must now give `first` another server session than `second` has.
  await second.query("begin");
  await queryOneInTime<Session>(second, READ_SQL);
  const again = await queryOneInTime<Session>(first, READ_SQL);
  await second.query("rollback");
  return again.mark === mark && again.pid === own.pid;
}

interface Session {
  readonly pid: number;
  readonly mark: string | null;
}

const MARK_SQL = `select pg_backend_pid() as pid, set_config('tokenmarket.session', $1, false) as mark`;
const READ_SQL = `select pg_backend_pid() as pid, current_setting('tokenmarket.session', true) as mark`;

function noSessions(setting: ServerAddresses["directSetting"]): DatabaseUnfitFault {
  const next =
    setting === "DATABASE_URL"
      ? "keep DATABASE_URL and give the address of the server itself in DATABASE_DIRECT_URL"
      : "give it the address of the server itself";
  return new DatabaseUnfitFault(
    `${setting} leads through a pooler in transaction mode, where locks, time limits and notifications ` +
      `of a session are lost; ${next} (docs/operating/databases.md)`,
  );
}

/** Checks that a lock of the direct connection is visible through the pooler. */
async function assertSameDatabase(
  direct: PoolClient,
  shared: DatabaseAddress,
  log: Logger,
): Promise<void> {
  const lock = [randomInt(2 ** 31), randomInt(2 ** 31)];
  await direct.query("select pg_advisory_lock($1, $2)", lock);
  const pool = openSharedPool(shared, log, 1);
  try {
    const client = await pool.connect();
    try {
      await client.query("begin");
      const { seen } = await queryOneInTime<{ seen: boolean }>(client, SEES_LOCK_SQL, lock);
      if (seen) return;
      throw new DatabaseUnfitFault(
        "DATABASE_URL and DATABASE_DIRECT_URL lead to different databases; both must be addresses of one " +
          "database on its primary server",
      );
    } catch (fault) {
      if (!(fault instanceof DatabaseError && /statement pooling/.test(fault.message))) throw fault;
      throw new DatabaseUnfitFault(
        "DATABASE_URL leads through a pooler in statement mode, which has no transactions; set the pooler " +
          "to transaction mode",
      );
    } finally {
      client.release(true);
    }
  } finally {
    await pool.end();
  }
}

const SEES_LOCK_SQL = `select exists (
    select from pg_locks l join pg_database d on d.oid = l.database
    where d.datname = current_database() and l.locktype = 'advisory'
      and l.classid = $1::bigint::oid and l.objid = $2::bigint::oid
  ) as seen`;
