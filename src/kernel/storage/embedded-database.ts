import { Client } from "pg";

/** Name of the database, and of the role that manages the server: a superuser, for starts only. */
export const DATABASE_NAME = "tokenmarket";
/** The role that the program works as: it owns the database and is not a superuser. */
export const PROGRAM_ROLE = "tokenmarket_program";
const LOG_IN_TIMEOUT_MS = 2_000;

/** Where a server of ours listens, and what opens it. */
export interface ServerAddress {
  readonly port: number;
  /** The password of the role that manages the server. */
  readonly adminPassword: string;
  /** The password of the role that the program works as. */
  readonly programPassword: string;
}

/** The connection string of the program. With the password: never print it. */
export function toConnectionString({ port, programPassword }: ServerAddress): string {
  return `postgres://${PROGRAM_ROLE}:${programPassword}@127.0.0.1:${port}/${DATABASE_NAME}`;
}

/** As the role that manages the server. With the password: never print it. */
export function toAdminConnectionString(address: ServerAddress, database: string): string {
  return `postgres://${DATABASE_NAME}:${address.adminPassword}@127.0.0.1:${address.port}/${database}`;
}

/** True if the server accepts a connection. */
export async function answers(address: ServerAddress): Promise<boolean> {
  return await letsIn(toAdminConnectionString(address, "postgres"));
}

/**
 * Makes the program's role and its database where they are missing: initdb makes others only. A
 * database that an earlier version filled as a superuser is handed over to that role.
 */
export async function ensureDatabase(address: ServerAddress): Promise<void> {
  const isOpen = await letsIn(toConnectionString(address));
  const admin = maintenanceClient(toAdminConnectionString(address, "postgres"));
  await admin.connect();
  try {
    if (!isOpen) await ensureProgramRole(admin, address.programPassword);
    const found = await admin.query(FIND_DATABASE_SQL, [DATABASE_NAME]);
    if (found.rowCount === 0) {
      await admin.query(`create database ${DATABASE_NAME} owner ${PROGRAM_ROLE}`);
    }
  } finally {
    await admin.end();
  }
  await giveToProgram(maintenanceClient(toAdminConnectionString(address, DATABASE_NAME)), {
    database: DATABASE_NAME,
    from: DATABASE_NAME,
    to: PROGRAM_ROLE,
  });
}

const FIND_DATABASE_SQL = "select from pg_database where datname = $1";

async function ensureProgramRole(admin: Client, password: string): Promise<void> {
  const found = await admin.query("select from pg_roles where rolname = $1", [PROGRAM_ROLE]);
  const verb = found.rowCount === 0 ? "create" : "alter";
  await admin.query(
    `${verb} role ${PROGRAM_ROLE} login nosuperuser nocreatedb nocreaterole noreplication ` +
      `nobypassrls password ${admin.escapeLiteral(password)}`,
  );
}

async function letsIn(connectionString: string): Promise<boolean> {
  const client = maintenanceClient(connectionString);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}

function maintenanceClient(connectionString: string): Client {
  const client = new Client({ connectionString, connectionTimeoutMillis: LOG_IN_TIMEOUT_MS });
  client.on("error", () => undefined);
  return client;
}

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
async function giveToProgram(client: Client, handover: Handover): Promise<void> {
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
