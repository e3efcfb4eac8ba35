import type { CustomTypesConfig, PoolClient, QueryArrayConfig } from "pg";

const BLOCK_ROWS = 5_000;

export type Text = string | null | undefined;
/** A row as the server writes it. */
export type TextRow = readonly Text[];

/** The rows of a statement in blocks, so that a journal of any length fits into memory. */
export async function* readBlocks(
  client: PoolClient,
  sql: string,
): AsyncGenerator<readonly TextRow[]> {
  await client.query(`declare block no scroll cursor for ${sql}`);
  for (;;) {
    const rows = await readRows(client, `fetch ${BLOCK_ROWS} from block`);
    if (rows.length > 0) yield rows;
    if (rows.length < BLOCK_ROWS) break;
  }
  await client.query("close block");
}

export async function readRows(client: PoolClient, sql: string): Promise<readonly TextRow[]> {
  const options: QueryArrayConfig = { text: sql, rowMode: "array", types: textTypes };
  return (await client.query<(string | null)[]>(options)).rows;
}

const textTypes: CustomTypesConfig = {
  getTypeParser: (() => (text: string) => text) as CustomTypesConfig["getTypeParser"],
};
