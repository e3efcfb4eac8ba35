import { Client } from "pg";
import type { TestGateway } from "./gateway.ts";

export async function inSession<T>(connectionString: string, work: (client: Client) => Promise<T>) {
  const client = new Client({ connectionString });
  // If the server dies meanwhile, the statement under way fails, and not the process.
  client.on("error", () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Runs one statement in a transaction and leaves it open; its locks end with the connection. */
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

export async function runSql(gateway: Pick<TestGateway, "config">, sql: string, values: unknown[]) {
  await readSql(gateway, sql, values);
}

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
