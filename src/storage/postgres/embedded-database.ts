import { Client } from "pg";

/** Name of the database and of its user. */
export const DATABASE_NAME = "tokenmarket";
const LOG_IN_TIMEOUT_MS = 2_000;

/** Where a server of ours listens, and what opens it. */
export interface ServerAddress {
  readonly port: number;
  readonly password: string;
}

/** With the password: never print it. */
export function connectionStringOf(address: ServerAddress, database: string): string {
  return `postgres://${DATABASE_NAME}:${address.password}@127.0.0.1:${address.port}/${database}`;
}

/** Does the server let us in? */
export async function answers(address: ServerAddress): Promise<boolean> {
  const client = maintenanceClient(address);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}

/** Makes our database where it is missing: initdb makes another one only. */
export async function ensureDatabase(address: ServerAddress): Promise<void> {
  const client = maintenanceClient(address);
  await client.connect();
  try {
    const found = await client.query(findDatabaseSql, [DATABASE_NAME]);
    if (found.rowCount === 0) await client.query(`create database ${DATABASE_NAME}`);
  } finally {
    await client.end();
  }
}

const findDatabaseSql = "select from pg_database where datname = $1";

function maintenanceClient(address: ServerAddress): Client {
  const client = new Client({
    connectionString: connectionStringOf(address, "postgres"),
    connectionTimeoutMillis: LOG_IN_TIMEOUT_MS,
  });
  client.on("error", () => undefined);
  return client;
}
