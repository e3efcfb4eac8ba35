import { describe, expect, onTestFinished, test } from "vitest";

import { openPostgresBackend, type PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { microUsd, parseUsd } from "../../src/kernel/core/money.ts";
import { checkServer } from "../../src/kernel/storage/check-server.ts";
import { addOrg } from "../support/add-key.ts";
import { hasOpenssl, makeAuthority } from "../support/authority.ts";
import { ask } from "../support/ask.ts";
import { brokenBooks, nothingHeld, until } from "../support/books.ts";
import { startTestGateway } from "../support/gateway.ts";
import { hasOwnPostgres, startOwnPostgres } from "../support/own-postgres.ts";
import { runOnce } from "../support/postgres.ts";
import { silentLog } from "../support/silent-log.ts";
import { withResource } from "../support/with-resource.ts";
import { testOperator } from "../support/test-operator.ts";
import { inSession } from "../support/sql.ts";

const GRANTED = microUsd(2_000_000n);
const LAG_MS = 4_000;
const WHOLE = { fromMs: 0, toMs: 4_102_444_800_000 };

describe.skipIf(!hasOwnPostgres)("an external PostgreSQL", () => {
  const server = withResource(() => startOwnPostgres());

  test("serves a gateway with an ordinary role, exact balances and books that pass the audit", async () => {
    const url = server.connectionString;
    const gateway = await startTestGateway({ settings: { databaseUrl: url } });
    onTestFinished(() => gateway.close());
    const account = await gateway.account("1.00");
    const asked = { key: account.key, wire: "wire_a", model: "test/a", text: "hi" } as const;
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(gateway.url, asked)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
    await nothingHeld(gateway, account);
    const { settledMicroUsd } = await gateway.backend.recordStore.balance(account.orgId);
    const page = { orgId: account.orgId, limit: 10 };
    const { rows } = await gateway.backend.recordStore.usagePage(page);
    const spent = rows.reduce<bigint>((sum, { debitMicroUsd }) => sum + debitMicroUsd, 0n);
    expect(rows).toHaveLength(8);
    expect(settledMicroUsd + spent).toBe(parseUsd("1.00"));
    expect(await brokenBooks(gateway)).toEqual([]);
    const { rows: roles } = await inSession(url, (client) => client.query(ROLE_SQL));
    expect(roles).toEqual([{ is_ordinary: true, extensions: ["plpgsql"] }]);
  });

  test("serves reports from a replica that is recent, and from the primary otherwise", async () => {
    const replica = await server.replica();
    onTestFinished(() => replica.close());
    const reportsConnectionString = replica.connectionString;
    const reports = { reportsLagMs: LAG_MS, reportsConnectionString };
    const backend = await open(server.connectionString, reports);
    const orgId = await addOrg(backend);
    const report = async (): Promise<number | undefined> => {
      let asOfMs: number | undefined;
      const noted = backend.usageReports.noting((atMs) => (asOfMs = atMs));
      await noted.report({ orgId, ...WHOLE, fromMs: WHOLE.toMs - 86_400_000 }, "model");
      return asOfMs;
    };
    await until("the replica serves", async () => (await report()) !== undefined);
    const reads = await readsOf(replica.adminConnectionString);
    await report();
    await until("the replica counts it", async () => {
      return (await readsOf(replica.adminConnectionString)) > reads;
    });

    // The replica stops replaying while the primary continues, so it becomes too old to be used.
    await runOnce(replica.adminConnectionString, "select pg_wal_replay_pause()");
    const grant = { orgId, amountMicroUsd: GRANTED, ref: "paused" };
    await backend.creditStore.grant(grant, testOperator);
    const ages: number[] = [];
    await until("the primary serves", async () => {
      const asOfMs = await report();
      if (asOfMs === undefined) return true;
      ages.push(Date.now() - asOfMs);
      return false;
    });
    expect(ages.length).toBeGreaterThan(2);
    expect(Math.max(...ages)).toBeGreaterThan(LAG_MS / 2);
    // Money is always read from the primary.
    const lines = await backend.usageReports.walletLines(orgId, { limit: 10 });
    expect(lines.lines.map(({ ref }) => ref)).toEqual(["paused"]);

    await runOnce(replica.adminConnectionString, "select pg_wal_replay_resume()");
    await until("the replica serves again", async () => (await report()) !== undefined);
    await replica.stop();
    expect(await report()).toBeUndefined();
    await replica.start();
    await until("it serves after a restart", async () => (await report()) !== undefined);
  });

  test("serves no report from a replica address that leads to another database", async () => {
    const other = await startOwnPostgres();
    onTestFinished(() => other.close());
    const [own, foreign] = [server.connectionString, other.connectionString];
    const backend = await open(own, { reportsConnectionString: foreign });
    await open(foreign);
    const said: number[] = [];
    const noted = backend.usageReports.noting((atMs) => said.push(atMs));
    for (let n = 0; n < 20; n += 1) {
      await noted.providerActivity();
      await new Promise((done) => setTimeout(done, 100));
    }
    expect(said).toEqual([]);
  });
});

describe.skipIf(!hasOwnPostgres)("a PostgreSQL with a certificate of a private authority", () => {
  test.skipIf(!hasOpenssl)("is accepted only with its CA file and its host name", async () => {
    const authority = makeAuthority();
    onTestFinished(() => authority.close());
    const server = await startOwnPostgres(authority);
    onTestFinished(() => server.close());
    const check = async (host: string, query: string): Promise<unknown> => {
      const url = new URL(server.connectionString);
      url.hostname = host;
      const direct = { direct: `${url.href}?${query}`, directSetting: "DATABASE_URL" } as const;
      const addresses = { ...direct, shared: undefined, isStorageDurable: false };
      return await checkServer(addresses, silentLog).then(() => "accepted", String);
    };
    const verified = `sslmode=verify-full&sslrootcert=${authority.caFile}`;
    expect(await check("localhost", verified)).toBe("accepted");
    expect(await check("127.0.0.1", verified)).toMatch(/does not match certificate/);
    expect(await check("localhost", "sslmode=verify-full")).toMatch(/certificate/);
  });
});

async function open(connectionString: string, more = {}): Promise<PostgresBackend> {
  const opened = openPostgresBackend({ connectionString, log: silentLog, ...more });
  onTestFinished(() => opened.close());
  await opened.migrate();
  return opened;
}

const ROLE_SQL = `select not (rolsuper or rolcreaterole or rolcreatedb or rolreplication
    or rolbypassrls) as is_ordinary,
    (select array_agg(extname::text) from pg_extension) as extensions
  from pg_roles where rolname = current_user`;

async function readsOf(connectionString: string): Promise<number> {
  const sql = "select sum(xact_commit) as commits from pg_stat_database where datname = 'market'";
  const { rows } = await inSession(connectionString, (client) =>
    client.query<{ commits: string }>(sql),
  );
  return Number(rows[0]?.commits);
}
