import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { Client } from "pg";
import { expect, test } from "vitest";

import { openPostgresBackend } from "../../../src/app/open-postgres-backend.ts";
import { withBackupLock } from "../../../src/backup/backup-server.ts";
import { createBackup } from "../../../src/backup/create-backup.ts";
import { restoreBackup } from "../../../src/backup/restore-backup.ts";
import { verifyBackup } from "../../../src/backup/verify-backup.ts";
import { microUsd, systemClock as clock } from "../../../src/core/index.ts";
import { startEmbeddedPostgres } from "../../../src/storage/index.ts";
import { type BackupFixture, openBackupFixture } from "../../support/backup-fixture.ts";
import { killPostmaster } from "../../support/postgres-processes.ts";
import { silentLog as log } from "../../support/silent-log.ts";
import { withResource } from "../../support/with-resource.ts";
import { testOperator } from "../../support/test-operator.ts";

const ROUNDS = [1, 2, 3] as const;
const books = withResource(openBackupFixture);

async function grant(ref: string, amount = 1_000_000n): Promise<void> {
  const { orgId, backend } = books;
  await backend.creditStore.grant({ orgId, amountMicroUsd: microUsd(amount), ref }, testOperator);
}

/** The server's own clock, as it stamps its commits. */
async function serverTime(): Promise<string> {
  const { rows } = await ask(
    books.server.adminConnectionString,
    `select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at`,
  );
  return String(rows[0]?.["at"]);
}

async function ask(
  connectionString: string,
  sql: string,
): Promise<{ rows: readonly Readonly<Record<string, unknown>>[] }> {
  const client = new Client({ connectionString });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await client.query<Readonly<Record<string, unknown>>>(sql);
  } finally {
    await client.end();
  }
}

/** Ends the segment of the log, and waits until the server has archived it. */
async function archiveNow(): Promise<void> {
  const { adminConnectionString, archive } = books.server;
  const sql = "select pg_walfile_name(pg_current_wal_lsn()) as name, pg_switch_wal()";
  const name = String((await ask(adminConnectionString, sql)).rows[0]?.["name"]);
  while (!existsSync(join(archive?.wal ?? "", name))) await sleep(50);
}

/** The references of all grants of the database in this data folder, and what its books say. */
async function restoredBooks(dataDir: string): Promise<{ refs: string[]; broken: string[] }> {
  const server = await startEmbeddedPostgres({ dataDir, log });
  const backend = openPostgresBackend({ ...server, log });
  try {
    const entries = await backend.creditStore.ledgerEntries(books.orgId);
    const broken = (await backend.audit()).filter(({ violations }) => violations > 0);
    return { refs: entries.map(({ ref }) => ref).sort(), broken: broken.map(({ id }) => id) };
  } finally {
    await backend.close();
    await server.stop();
  }
}

function restoreTo(dataDir: string, at: string | undefined): ReturnType<typeof restoreBackup> {
  const time = at === undefined ? ("end" as const) : { time: at };
  return restoreBackup({
    from: books.backups,
    at: time,
    trusted: books.key.publicKey,
    dataDir,
    log,
  });
}

test.each(ROUNDS)(
  "a restore to a time between two grants has exactly the first, round %i",
  async (round) => {
    await books.backUp();
    await grant(`first-${round}`);
    await sleep(20);
    const between = await serverTime();
    await sleep(20);
    await grant(`second-${round}`);
    await archiveNow();
    const dataDir = join(books.root, `between-${round}`);
    await restoreTo(dataDir, between);
    const { refs, broken } = await restoredBooks(dataDir);
    expect(broken).toEqual([]);
    expect(refs).toContain(`first-${round}`);
    expect(refs).not.toContain(`second-${round}`);
    const all = join(books.root, `all-${round}`);
    await restoreTo(all, undefined);
    expect((await restoredBooks(all)).refs).toContain(`second-${round}`);
    await expect(restoreTo(join(books.root, "late"), "2999-01-01T00:00:00Z")).rejects.toThrow(
      /the archived log ends before that time/,
    );
  },
);

test.each(ROUNDS)("a copy under load has exact sums and clean books, round %i", async (round) => {
  const over = new AbortController();
  const load = Array.from({ length: 4 }, async (_, writer) => {
    for (let i = 0; !over.signal.aborted; i++) await grant(`load-${round}-${writer}-${i}`, 1_001n);
  });
  await sleep(300);
  const made = await books.backUp().finally(() => over.abort());
  await Promise.all(load);
  expect(made.sums.credits).toBe(made.sums.debits);
  const scratchDir = join(books.root, "scratch");
  const trusted = books.key.publicKey;
  const { checks } = await verifyBackup({ from: books.backups, trusted, scratchDir, log, clock });
  expect(checks.filter(({ ok }) => !ok)).toEqual([]);
});

test.each(ROUNDS)(
  "a server that is killed while a copy runs leaves no copy, and the next one is good, round %i",
  async () => {
    const supervised: BackupFixture = await openBackupFixture();
    try {
      const copying = supervised.backUp().then(
        () => "made",
        () => "failed",
      );
      const { archive, dataDir } = supervised.server;
      const life = archive?.folder ?? "";
      const isUnderWay = (): boolean => readdirSync(life).some((name) => name.endsWith(".partial"));
      while (!isUnderWay()) await sleep(1);
      killPostmaster(dataDir);
      expect(await copying).toBe("failed");
      expect(readdirSync(life).filter((name) => name.startsWith("base-"))).toEqual([]);
      const options = { dataDir: join(supervised.root, "data"), log };
      const again = await startEmbeddedPostgres(options);
      await supervised.backUp();
      const trusted = supervised.key.publicKey;
      const scratchDir = join(supervised.root, "scratch");
      const { checks } = await verifyBackup({
        from: supervised.backups,
        trusted,
        scratchDir,
        log,
        clock,
      });
      expect(checks.filter(({ ok }) => !ok)).toEqual([]);
      await again.stop();
    } finally {
      await supervised.close();
    }
  },
);

test("a stop ends a copy that is under way at once, and leaves nothing of it", async () => {
  const { server, key } = books;
  const { archive } = server;
  if (archive === undefined) throw new Error("nothing is archived");
  const before = readdirSync(archive.folder);
  const stopping = new AbortController();
  const { signal } = stopping;
  let asked = 0;
  // It is asked before each file: the stop comes in the midst of them.
  signal.throwIfAborted = (): void => {
    asked += 1;
    if (asked === 100) stopping.abort();
    AbortSignal.prototype.throwIfAborted.call(signal);
  };
  const options = { server, archive, key, clock, signal };
  const made = withBackupLock(server, (client) => createBackup(client, options));
  await expect(made).rejects.toMatchObject({ name: "AbortError" });
  // Only what was being copied side by side was asked for again.
  expect(asked).toBeLessThan(150);
  expect(readdirSync(archive.folder)).toEqual(before);
});
