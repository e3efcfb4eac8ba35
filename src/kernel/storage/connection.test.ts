import type { Pool } from "pg";
import { expect, onTestFinished, test } from "vitest";

import { databaseOfTest, HOSTILE_SETTINGS, runOnce } from "../../../test/support/postgres.ts";
import { silentLog } from "../../../test/support/silent-log.ts";
import { beginLocally, openPool, openSharedPool } from "./connection.ts";
import { missingSettings, settleRole } from "./session-settings.ts";

test("a connection lost between two statements fails the next statement, not the program", async () => {
  const pool = ended(openPool(await databaseOfTest(), silentLog));
  const lent = await pool.connect();
  onTestFinished(() => lent.release(true));
  const own = await lent.query<{ pid: number }>("select pg_backend_pid() as pid");
  const lost = new Promise((resolve) => lent.once("end", resolve));
  await pool.query("select pg_terminate_backend($1)", [own.rows[0]?.pid]);
  await lost;
  await expect(lent.query("select 1")).rejects.toThrow(/terminat|not queryable/);
});

test("a session has the program's settings, and behind a pooler it has them from its role", async () => {
  const url = await databaseWith({ ...HOSTILE_SETTINGS, search_path: "decoy" });
  const shared = ended(openSharedPool(url, silentLog));
  const own = ended(openPool(url, silentLog));
  expect(await missingSettings(own)).toEqual([]);
  const missing = await missingSettings(shared);
  expect(missing).toEqual(expect.arrayContaining(["jit", "synchronous_commit", "search_path"]));
  // Settings that were applied to one transaction end with it.
  const lent = await shared.connect();
  await lent.query("begin read only");
  await beginLocally(lent, { statementTimeoutMs: 30_000 });
  const { rows } = await lent.query("select '{null}'::text[] as list, now()::text as now");
  expect(rows).toEqual([{ list: [null], now: expect.stringMatching(/^\d{4}-.*[+]00$/) }]);
  await lent.query("commit");
  expect((await lent.query("show jit")).rows).toEqual([{ jit: "on" }]);
  lent.release(true);
  await settleRole(own);
  expect(await missingSettings(shared)).toEqual([]);
});

test("instances that start together can all write the settings of their role", async () => {
  const url = await databaseOfTest();
  const pools = Array.from({ length: 4 }, () => ended(openSharedPool(url, silentLog)));
  await Promise.all(pools.map((pool) => pool.query("select 1")));
  // Runs twice: first without earlier settings, then with them.
  for (let n = 0; n < 2; n += 1) await Promise.all(pools.map(settleRole));
  expect(await missingSettings(ended(openSharedPool(url, silentLog)))).toEqual([]);
});

test("a session keeps the server's read-only mode and its stricter synchronous commit", async () => {
  const url = await databaseWith({
    default_transaction_read_only: "on",
    synchronous_commit: "remote_apply",
  });
  const pool = ended(openPool(url, silentLog));
  expect((await pool.query("show synchronous_commit")).rows).toEqual([
    { synchronous_commit: "remote_apply" },
  ]);
  await expect(pool.query("create table written ()")).rejects.toThrow(/read-only transaction/);
});

/** A database whose sessions begin with these settings. */
async function databaseWith(settings: Readonly<Record<string, string>>): Promise<string> {
  const url = await databaseOfTest();
  const name = new URL(url).pathname.slice(1);
  const changes = Object.entries(settings).map(
    ([setting, value]) => `alter role current_user in database ${name} set ${setting} = ${value}`,
  );
  await runOnce(url, changes.join("; "));
  return url;
}

function ended(pool: Pool): Pool {
  onTestFinished(() => pool.end());
  return pool;
}
