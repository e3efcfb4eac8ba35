import { Client } from "pg";
import type { TestGateway } from "./gateway.ts";

/** Makes a change that no store offers, with one statement on the gateway's own database. */
export async function runSql(
  gateway: Pick<TestGateway, "config">,
  sql: string,
  values: unknown[],
): Promise<void> {
  await readSql(gateway, sql, values);
}

/** Reads what no store shows: the rows of one statement on the gateway's own database. */
export async function readSql(
  gateway: Pick<TestGateway, "config">,
  sql: string,
  values: unknown[],
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = new Client({ connectionString: gateway.config.databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(sql, values);
    return rows;
  } finally {
    await client.end();
  }
}
