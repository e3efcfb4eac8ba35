import { expect, test } from "vitest";

import { withDatabase } from "../../../test/support/postgres.ts";
import { silentLog } from "../../../test/support/silent-log.ts";
import { withResource } from "../../../test/support/with-resource.ts";
import { openPool } from "./connection.ts";
import { inTransaction } from "./transaction.ts";

const SHORT_MS = 100;

const database = withDatabase();
/** A pool of one connection, so that the next statement sees whatever a transaction left behind. */
const opened = withResource(
  () => ({ pool: openPool(database.connectionString, silentLog, 1) }),
  ({ pool }) => pool.end(),
);

async function rowsOf(sql: string): Promise<readonly unknown[]> {
  return (await opened.pool.query(sql)).rows;
}

test("a transaction commits its work and returns its result", async () => {
  const answer = await inTransaction(opened.pool, async (client) => {
    await client.query("create table kept (a integer)");
    return "made";
  });
  expect(answer).toBe("made");
  expect(await rowsOf("select * from kept")).toEqual([]);
});

test("a failed transaction leaves nothing in the database or on the pool", async () => {
  const failing = inTransaction(opened.pool, async (client) => {
    await client.query("create table lost (a integer)");
    await client.query("set statement_timeout = 12345");
    throw new Error("stop");
  });
  await expect(failing).rejects.toThrow("stop");
  expect(await rowsOf("select to_regclass('lost') as made")).toEqual([{ made: null }]);
  const [shown] = await rowsOf("show statement_timeout");
  expect(shown).not.toEqual({ statement_timeout: "12345ms" });
});

test("a commit without an answer fails after the caller's timeout", async () => {
  await opened.pool.query(`
    create table slow (a integer);
    create function wait() returns trigger language plpgsql as $$
      begin perform pg_sleep(1); return null; end $$;
    create constraint trigger waits after insert on slow initially deferred
      for each row execute function wait()`);
  const work = (client: { query(sql: string): Promise<unknown> }): Promise<unknown> =>
    client.query("insert into slow values (1)");
  await expect(inTransaction(opened.pool, work, SHORT_MS)).rejects.toThrow("timeout");
  await inTransaction(opened.pool, work);
});
