import { inSession } from "../../support/sql.ts";

/** All text in a database, as a thief of a copy would find it. */
export async function everyStoredText(connectionString: string): Promise<string> {
  return await inSession(connectionString, async (client) => {
    const tables = await client.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
       where schemaname not in ('pg_catalog', 'information_schema')`,
    );
    const texts: string[] = [];
    for (const { name } of tables.rows) {
      const { rows } = await client.query<{ line: string }>(
        `select t::text as line from ${name} t`,
      );
      texts.push(...rows.map(({ line }) => line));
    }
    return texts.join("\n");
  });
}
