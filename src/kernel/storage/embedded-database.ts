import { Client } from "pg";

/** Name of the database, and of the superuser that manages the server. */
export const DATABASE_NAME = "tokenmarket";
/** The role of the program. It owns the database but is no superuser. */
export const PROGRAM_ROLE = "tokenmarket_program";
const LOG_IN_TIMEOUT_MS = 2_000;

export interface ServerAddress {
  readonly port: number;
  readonly adminPassword: string;
  readonly programPassword: string;
}

/** Contains the password of the program's role: never print the result. */
export function toConnectionString({ port, programPassword }: ServerAddress): string {
  return `postgres://${PROGRAM_ROLE}:${programPassword}@127.0.0.1:${port}/${DATABASE_NAME}`;
}

/** Contains the superuser's password: never print the result. */
export function toAdminConnectionString(address: ServerAddress, database: string): string {
  return `postgres://${DATABASE_NAME}:${address.adminPassword}@127.0.0.1:${address.port}/${database}`;
}

export async function answers(address: ServerAddress): Promise<boolean> {
  return await letsIn(toAdminConnectionString(address, "postgres"));
}

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
