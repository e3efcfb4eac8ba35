import type { Client } from "pg";

import {
  beginSession,
  type DatabaseAddress,
  type EmbeddedPostgres,
  openClient,
} from "../storage/index.ts";
import { BackupFault, type AccountSums } from "./backup-manifest.ts";

/** What the embedded server is to its backups. */
export type BackupServer = Pick<
  EmbeddedPostgres,
  "adminConnectionString" | "archive" | "cluster" | "connectionString" | "dataDir"
>;

const LOCK_SQL = "select pg_try_advisory_lock(hashtext('tokenmarket backup')) as locked";
const CONNECT_TIMEOUT_MS = 5_000;

/**
 * Runs `work` on a connection that may start base copies, while no other process works on the
 * backups of this database; undefined when another does. The lock ends with the connection,
 * however this process ends.
 */
export async function withBackupLock<T>(
  server: BackupServer,
  work: (client: Client) => Promise<T>,
): Promise<{ readonly value: T } | undefined> {
  return await onServer(server.adminConnectionString, async (client) => {
    const { rows } = await client.query<{ locked: boolean }>(LOCK_SQL);
    return rows[0]?.locked === true ? { value: await work(client) } : undefined;
  });
}

export async function onServer<T>(
  address: DatabaseAddress,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = openClient(address, {
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: "tokenmarket-backup",
  });
  client.on("error", () => undefined);
  await client.connect();
  try {
    await beginSession(client, { statementTimeoutMs: 0 });
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The sums of all accounts, of the statement's snapshot. */
export async function readSums(client: Pick<Client, "query">): Promise<AccountSums> {
  const { rows } = await client.query<Readonly<Record<string, string>>>(SUMS_SQL);
  const [row] = rows;
  if (row === undefined) throw new BackupFault("the accounts could not be added up");
  return {
    accounts: BigInt(row["accounts"] ?? ""),
    debits: BigInt(row["debits"] ?? ""),
    credits: BigInt(row["credits"] ?? ""),
    reserved: BigInt(row["reserved"] ?? ""),
  };
}

const SUMS_SQL = `select count(*)::text as accounts, coalesce(sum(debits), 0)::text as debits,
  coalesce(sum(credits), 0)::text as credits, coalesce(sum(reserved), 0)::text as reserved
  from account`;
