import { expect, test } from "vitest";

import { freshDatabase, HOSTILE_SETTINGS, runOnce } from "../../../test/support/postgres.ts";
import { silentLog } from "../../../test/support/silent-log.ts";
import { beginLocally, openPool, openSharedPool } from "./connection.ts";
import { missingSettings, settleRole } from "./session-settings.ts";

test("a connection lost between two statements fails the next statement, not the program", async () => {
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

test("sessions have the program's settings; those of a pooler have them from their role", async () => {
  const database = await withDefaults({ ...HOSTILE_SETTINGS, search_path: "decoy" });
  const shared = openSharedPool(database.connectionString, silentLog);
  const own = openPool(database.connectionString, silentLog);
  try {
    expect(await missingSettings(own)).toEqual([]);
    const missing = await missingSettings(shared);
    expect(missing).toEqual(expect.arrayContaining(["jit", "synchronous_commit", "search_path"]));
    // A setting of a report ends with its transaction.
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
  } finally {
    await Promise.all([shared.end(), own.end()]);
    await database.drop();
  }
});

test("instances that start together can all write the settings of their role", async () => {
  const database = await freshDatabase();
  const pools = Array.from({ length: 4 }, () =>
    openSharedPool(database.connectionString, silentLog),
  );
  try {
    await Promise.all(pools.map((pool) => pool.query("select 1")));
    // Runs twice: first without earlier settings, then with them.
    for (let n = 0; n < 2; n += 1) await Promise.all(pools.map(settleRole));
    const later = openSharedPool(database.connectionString, silentLog);
    pools.push(later);
    expect(await missingSettings(later)).toEqual([]);
  } finally {
    await Promise.all(pools.map((pool) => pool.end()));
    await database.drop();
  }
});

test("a session keeps the server's read-only mode and its stricter synchronous commit", async () => {
  const database = await withDefaults({
    default_transaction_read_only: "on",
    synchronous_commit: "remote_apply",
  });
  const pool = openPool(database.connectionString, silentLog);
  try {
    expect((await pool.query("show synchronous_commit")).rows).toEqual([
      { synchronous_commit: "remote_apply" },
    ]);
    await expect(pool.query("create table written ()")).rejects.toThrow(/read-only transaction/);
  } finally {
    await pool.end();
    await database.drop();
  }
});

/** A database whose sessions begin with these settings. */
async function withDefaults(
  settings: Readonly<Record<string, string>>,
): ReturnType<typeof freshDatabase> {
  const database = await freshDatabase();
  const name = new URL(database.connectionString).pathname.slice(1);
  const changes = Object.entries(settings).map(
    ([setting, value]) => `alter role current_user in database ${name} set ${setting} = ${value}`,
  );
  await runOnce(database.connectionString, changes.join("; "));
  return database;
}
