import { Client } from "pg";
import type { TestGateway } from "./gateway.ts";

/** Changes what no store offers to change: one statement on the gateway's own database. */
export async function runSql(gateway: TestGateway, sql: string, values: unknown[]): Promise<void> {
  const client = new Client({ connectionString: gateway.config.databaseUrl });
  await client.connect();
  try {
    await client.query(sql, values);
  } finally {
    await client.end();
  }
}
