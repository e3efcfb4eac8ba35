import { expect, test } from "vitest";

import { freshDatabase } from "../../test/support/postgres.ts";
import { silentLog } from "../../test/support/silent-log.ts";
import { openPool } from "./connection.ts";

test("a lent connection that is lost between two statements fails the next one, not the program", async () => {
  const database = await freshDatabase();
  const pool = openPool(database.connectionString, silentLog);
  const lent = await pool.connect();
  try {
    const own = await lent.query<{ pid: number }>("select pg_backend_pid() as pid");
    const lost = new Promise((resolve) => lent.once("end", resolve));
    await pool.query("select pg_terminate_backend($1)", [own.rows[0]?.pid]);
    await lost;
    await expect(lent.query("select 1")).rejects.toThrow(/terminat|not queryable/);
  } finally {
    lent.release(true);
    await pool.end();
    await database.drop();
  }
});
