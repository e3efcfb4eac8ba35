import { Socket } from "node:net";

import type { Pool } from "pg";
import { describe, expect, onTestFinished, test, vi } from "vitest";

import { databaseOfTest, HOSTILE_SETTINGS, runOnce } from "../../../test/support/postgres.ts";
import { silentLog } from "../../../test/support/silent-log.ts";
import { startTcpProxy } from "../../../test/support/tcp-proxy.ts";
import {
  beginLocally,
  liftTimeLimits,
  openClient,
  openPool,
  openSharedPool,
} from "./connection.ts";
import { asOnlyRunner, RUNNER_TIMES } from "./migrate.ts";
import { missingSettings, POOL_STATEMENT_TIMEOUT_MS, settleRole } from "./session-settings.ts";
import { inTransaction } from "./transaction.ts";

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

test("a server's limits on idle or long transactions do not end an audit, a report or an export", async () => {
  const limits = { idle_in_transaction_session_timeout: "60000", transaction_timeout: "60000" };
  const url = await databaseWith(limits);
  const shared = ended(openSharedPool(url, silentLog));
  const own = ended(openPool(url, silentLog));
  const sql = Object.keys(limits).map((name) => `current_setting('${name}')`);
  const shown = `select concat_ws(' ', ${sql.join()}) as is`;
  expect((await shared.query(shown)).rows).toEqual([{ is: "1min 1min" }]);
  expect(await missingSettings(shared)).toEqual(expect.arrayContaining(Object.keys(limits)));
  expect((await own.query(shown)).rows).toEqual([{ is: "0 0" }]);
  await settleRole(own);
  const settled = ended(openSharedPool(url, silentLog));
  expect((await settled.query(shown)).rows).toEqual([{ is: "0 0" }]);
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

const LIMIT_MS = POOL_STATEMENT_TIMEOUT_MS + 2_000;
const SILENCE = { message: expect.stringContaining("Query read timeout") as string };

describe("a server that falls silent without closing its connections", () => {
  const OPENED = [
    { name: "a pool", open: openPool },
    { name: "a pool behind a pooler", open: openSharedPool },
  ];

  test.each(OPENED)("fails a statement of $name soon after its time limit", async ({ open }) => {
    const { pool, proxy } = await poolThroughProxy(open);
    await pool.query("select 1");
    proxy.lose();
    expect(await faultAfterLimit(pool.query("select 1"))).toMatchObject(SILENCE);
    expect((await pool.query("select 1")).rowCount).toBe(1);
  });

  test("is not asked on the same connection again, even if that was released as good", async () => {
    const { pool, proxy } = await poolThroughProxy(openPool);
    const lent = await pool.connect();
    await lent.query("begin");
    proxy.lose();
    expect(await faultAfterLimit(lent.query("select 1"))).toMatchObject(SILENCE);
    await expect(lent.query("rollback")).rejects.toThrow(/terminated|not queryable/);
    lent.release();
    expect((await pool.query("select 1")).rowCount).toBe(1);
  });

  const UNLIMITED = [
    {
      name: "a transaction without time limits",
      work: (pool: Pool, begun: () => void) =>
        inTransaction(pool, async (client) => {
          await liftTimeLimits(client);
          begun();
          await client.query("select 1");
        }),
    },
    {
      name: "a migration",
      work: (pool: Pool, begun: () => void) =>
        asOnlyRunner(pool, RUNNER_TIMES, async (client) => {
          begun();
          await client.query("select 1");
        }),
    },
  ];

  test.each(UNLIMITED)("is awaited by $name, whose statements may be long", async ({ work }) => {
    const { pool, proxy } = await poolThroughProxy(openPool);
    let isOver = false;
    let done: Promise<unknown> = Promise.resolve();
    await new Promise<void>((begun) => {
      done = work(pool, begun).finally(() => (isOver = true));
    });
    proxy.lose();
    await vi.advanceTimersByTimeAsync(2 * LIMIT_MS);
    expect(isOver).toBe(false);
    proxy.set("down");
    await expect(done).rejects.toThrow(/terminated|ECONNRESET/);
  });
});

test("statements are limited again on a connection whose limits were lifted", async () => {
  const { pool, proxy } = await poolThroughProxy(openPool);
  await inTransaction(pool, liftTimeLimits);
  expect(pool.idleCount).toBe(1);
  proxy.lose();
  expect(await faultAfterLimit(pool.query("select 1"))).toMatchObject(SILENCE);
});

test.each([
  {
    name: "of a pool",
    connect: async (url: string) => await ended(openPool(url, silentLog)).query("select 1"),
  },
  {
    name: "of its own",
    connect: async (url: string) => {
      const client = openClient(url, {});
      await client.connect();
      await client.end();
    },
  },
])(
  "this process asks after ten quiet seconds whether a connection $name still stands",
  async ({ connect }) => {
    const url = await databaseOfTest();
    const asked = vi.spyOn(Socket.prototype, "setKeepAlive");
    onTestFinished(() => asked.mockRestore());
    await connect(url);
    expect(asked.mock.calls).toEqual([[true, 10_000]]);
  },
);

test("the server ends a session within a minute after its host has vanished, with its locks", async () => {
  const pool = ended(openPool(await databaseOfTest(), silentLog));
  const names = ["keepalives_idle", "keepalives_interval", "keepalives_count", "user_timeout"];
  const shown = names.map((name) => `current_setting('tcp_${name}')`);
  const sql = `select concat_ws(' ', ${shown.join()}) as is`;
  expect((await pool.query(sql)).rows).toEqual([{ is: "30 10 3 60000" }]);
});

/** Returns the fault of a statement once its time limits have passed. */
async function faultAfterLimit(asked: Promise<unknown>): Promise<unknown> {
  const fault = asked.catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(LIMIT_MS);
  return await fault;
}

/** A pool on fake time whose connections lead through a proxy. */
async function poolThroughProxy(open: typeof openPool) {
  const url = new URL(await databaseOfTest());
  const proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port) });
  url.port = String(proxy.port);
  const pool = open(url.href, silentLog);
  onTestFinished(async () => {
    vi.useRealTimers();
    await proxy.close();
    await pool.end();
  });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  return { pool, proxy };
}

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
