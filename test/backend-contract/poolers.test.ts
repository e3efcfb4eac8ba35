import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";

import { describe, expect, onTestFinished, test } from "vitest";

import { checkServer } from "../../src/kernel/storage/check-server.ts";
import { openPool, openSharedPool } from "../../src/kernel/storage/connection.ts";
import { hasPgBouncer, type PoolMode, withPgBouncer } from "../support/pgbouncer.ts";
import { databaseOfTest, runOnce, withDatabase } from "../support/postgres.ts";
import { silentLog } from "../support/silent-log.ts";

const database = withDatabase();
const address = (): string => database.connectionString;

async function check(direct: string, shared?: string, isStorageDurable = false): Promise<unknown> {
  const directSetting = shared === undefined ? "DATABASE_URL" : "DATABASE_DIRECT_URL";
  const addresses = { direct, directSetting, shared, isStorageDurable } as const;
  return await checkServer(addresses, silentLog).then(
    () => "accepted",
    (fault: unknown) => (fault instanceof Error ? `${fault.name}: ${fault.message}` : fault),
  );
}

test("the check of a server fails instead of hanging when the second of its connections is lost", async () => {
  const direct = new URL(address());
  const [port, host] = [Number(direct.port), direct.hostname];
  let count = 0;
  const door = createServer((client) => {
    count += 1;
    const server = connect(port, host);
    for (const end of [client, server]) end.on("error", () => undefined);
    client.pipe(server).pipe(client);
    // The second connection is lost when the first has long been open.
    if (count > 1) setTimeout(() => client.destroy(), 500);
    if (count > 1) client.unpipe(server);
  });
  door.listen(0, "127.0.0.1");
  await once(door, "listening");
  onTestFinished(() => void door.close());
  direct.port = String((door.address() as AddressInfo).port);
  direct.hostname = "127.0.0.1";
  expect(await check(direct.href)).not.toBe("accepted");
  expect(count).toBe(2);
});

/** A database that reports other settings of its server: `says` has the branches of a `case`. */
async function strangeServer(says: string): Promise<string> {
  const url = await databaseOfTest();
  const name = new URL(url).pathname.slice(1);
  await runOnce(
    url,
    `create schema strange; create function strange.current_setting(p_name text) returns text
      language sql as $$ select case ${says} end $$`,
  );
  // Functions of the schema `strange` are found before those of the server.
  const path = "set search_path = strange, pg_catalog";
  await runOnce(url, `alter role current_user in database ${name} ${path}`);
  return url;
}

test("a PostgreSQL older than 15 is refused with a reason", async () => {
  const old = await strangeServer("p_name when 'server_version_num' then '140022' else '14.22'");
  expect(await check(old)).toMatch(
    /^DatabaseUnfitFault: the database is PostgreSQL 14\.22, and tokenmarket needs 15 or newer; upgrade/,
  );
});

test("a server that may lose commits is refused, unless its storage is declared durable", async () => {
  const careless = await strangeServer(`when p_name in ('fsync', 'full_page_writes') then 'off'
    else pg_catalog.current_setting(p_name)`);
  expect(await check(careless)).toMatch(
    /^DatabaseUnfitFault: the database server runs with fsync = off and full_page_writes = off, .* set it back/,
  );
  expect(await check(careless, undefined, true)).toBe("accepted");
});

test("a database whose tables are in another schema is refused", async () => {
  const moved = await databaseOfTest();
  await runOnce(moved, "alter schema public rename to market; create schema public");
  expect(await check(moved)).toMatch(
    /^DatabaseUnfitFault: the tables of tokenmarket are in the schema market of the database/,
  );
});

describe.skipIf(!hasPgBouncer)("a start behind PgBouncer", () => {
  const pooler = withPgBouncer(address);
  const through = (mode: PoolMode, url = address()): string => pooler.through(url, mode);

  test("needs no direct address in session mode", async () => {
    expect(await check(through("session"))).toBe("accepted");
    const pool = openPool(through("session"), silentLog, 1);
    onTestFinished(() => pool.end());
    const { rows } = await pool.query("show statement_timeout");
    expect(rows).toEqual([{ statement_timeout: "30s" }]);
  });

  test.each([
    [
      "transaction",
      undefined,
      /^DatabaseUnfitFault: DATABASE_URL leads through a pooler in transaction mode.*in DATABASE_DIRECT_URL/,
    ],
    [
      "transaction",
      "session",
      /^DatabaseUnfitFault: DATABASE_DIRECT_URL leads through a pooler in transaction mode/,
    ],
    [
      undefined,
      "statement",
      /^DatabaseUnfitFault: DATABASE_URL leads through a pooler in statement mode.*transaction mode/,
    ],
  ] as const)(
    "with pool modes %s (direct address) and %s (pooled address) is refused: %s",
    async (direct, shared, reason) => {
      const directUrl = direct === undefined ? address() : through(direct);
      expect(await check(directUrl, shared && through(shared))).toMatch(reason);
    },
  );

  test("accepts a pooled address in transaction mode beside a direct address", async () => {
    expect(await check(address(), through("transaction"))).toBe("accepted");
  });

  test("is refused when the two addresses lead to different databases", async () => {
    expect(await check(address(), through("transaction", await databaseOfTest()))).toMatch(
      /^DatabaseUnfitFault: DATABASE_URL and DATABASE_DIRECT_URL lead to different databases/,
    );
  });

  test("does not mix up prepared statements of the same name in transaction mode", async () => {
    const pools = [1, 2, 3].map(() => openSharedPool(through("transaction"), silentLog, 4));
    try {
      const asked = pools.concat(pools, pools, pools, pools, pools).map(async (pool, n) => {
        const text = `select ${n % 3}::integer as n where $1`;
        return (await pool.query({ name: "same", text, values: [true] })).rows;
      });
      const answers = await Promise.all(asked);
      expect(answers).toEqual(asked.map((_, n) => [{ n: n % 3 }]));
    } finally {
      await Promise.all(pools.map((pool) => pool.end()));
    }
  });
});
