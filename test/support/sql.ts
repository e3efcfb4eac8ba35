import { Client } from "pg";
import type { TestGateway } from "./gateway.ts";

/** Opens a connection for the time of `work`. */
export async function inSession<T>(
  connectionString: string,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Runs one statement and leaves the transaction open. Its locks end with the connection. */
export async function openTransaction(
  { connectionString }: { readonly connectionString: string },
  sql: string,
  values: readonly string[] = [],
): Promise<Client> {
  const client = new Client({ connectionString });
  client.on("error", () => undefined);
  await client.connect();
  await client.query("begin");
  await client.query(sql, [...values]);
  return client;
}

export async function lockWallet(
  database: { readonly connectionString: string },
  { orgId }: { readonly orgId: string },
): Promise<Client> {
  const sql = "select from account where account_id = $1 for update";
  return await openTransaction(database, sql, [`wallet:${orgId}`]);
}

/** For a change that no store offers: runs one statement on the gateway's own database. */
export async function runSql(
  gateway: Pick<TestGateway, "config">,
  sql: string,
  values: unknown[],
): Promise<void> {
  await readSql(gateway, sql, values);
}

/** For what no store shows: returns the rows of one statement on the gateway's own database. */
export async function readSql(
  gateway: Pick<TestGateway, "config">,
  sql: string,
  values: unknown[],
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  return await inSession(
    gateway.config.databaseUrl,
    async (client) => (await client.query<Record<string, unknown>>(sql, values)).rows,
  );
}
