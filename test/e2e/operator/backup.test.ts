import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { expect, test } from "vitest";

import { restoreBackup, verifyBackup } from "../../../src/app/backup/restore-backup.ts";
import { microUsd, ownIdentity } from "../../../src/kernel/index.ts";
import { changesOf } from "../../support/change-writes.ts";
import { until } from "../../support/books.ts";
import { openBackupFixture } from "../../support/backup-fixture.ts";
import { jsonCommand } from "../../support/operator.ts";
import { silentLog as log } from "../../support/silent-log.ts";
import { testOperator } from "../../support/test-operator.ts";
import { withResource } from "../../support/with-resource.ts";
import { inSession } from "../../support/sql.ts";

const books = withResource(openBackupFixture);

async function grant(ref: string, amount: bigint): Promise<void> {
  const { orgId, backend } = books;
  await backend.creditStore.grant({ orgId, amountMicroUsd: microUsd(amount), ref }, testOperator);
}

/** The failed checks of the newest backup; the scratch folder must be empty afterwards. */
async function failedChecks(): Promise<readonly string[]> {
  const scratchDir = join(books.root, "scratch");
  const { checks } = await verifyBackup({ from: books.backups, scratchDir, log });
  expect(readdirSync(scratchDir)).toEqual([]);
  expect(checks.map(({ id }) => id)).toEqual(["copy", "sums", "books"]);
  return checks.filter(({ ok }) => !ok).map(({ detail }) => detail);
}

/** Runs a restore that must be refused and leave nothing; returns the reason. */
async function refusal(over: object = {}): Promise<string> {
  const dataDir = join(books.root, "refused");
  const message = await restoreBackup({ from: books.backups, dataDir, log, ...over }).then(
    () => "restored",
    (fault: unknown) => (fault as Error).message,
  );
  const cluster = join(dataDir, "postgres", "cluster");
  expect(existsSync(cluster) ? readdirSync(cluster) : [], message).toEqual([]);
  return message;
}

/** Runs `work` while a file is changed, or is missing if `change` returns undefined. */
async function withChanged(
  file: string,
  change: (bytes: Buffer) => Buffer | undefined,
  work: () => Promise<void>,
): Promise<void> {
  const before = readFileSync(file);
  const after = change(Buffer.from(before));
  if (after === undefined) rmSync(file);
  else writeFileSync(file, after);
  try {
    await work();
  } finally {
    writeFileSync(file, before);
  }
}

function newest(): string {
  return join(books.backups, readdirSync(books.backups).sort().at(-1) ?? "");
}

/**
 * Makes the server recycle the files of its write-ahead log, as hours of traffic do. A running
 * backup keeps the 16 MB of each round, so their number is bounded, in case the machine is slow.
 */
async function recycleLog(isOver: () => boolean): Promise<void> {
  await inSession(books.server.adminConnectionString, async (client) => {
    for (let round = 0; round < 40 && !isOver(); round++) {
      await client.query("select pg_switch_wal()");
      await client.query("checkpoint");
      await sleep(50);
    }
  });
}

test("a backup under load has the log that it needs, exact sums and clean books", async () => {
  const over = new AbortController();
  const isOver = (): boolean => over.signal.aborted;
  const writers = Array.from({ length: 2 }, async (_, writer) => {
    for (let i = 0; !isOver(); i++) await grant(`load-${writer}-${i}`, 1_001n);
  });
  const load = [...writers, recycleLog(isOver)];
  const { manifest } = await books.backUp().finally(() => over.abort());
  await Promise.all(load);
  const [, debits, credits] = /debits (\d+), credits (\d+)/.exec(manifest.sums) ?? [];
  expect([Number(debits) > 0, credits]).toEqual([true, debits]);
  expect(await failedChecks()).toEqual([]);
});

test("a backup is refused while another program makes one, and leaves nothing", async () => {
  const before = readdirSync(books.backups);
  // A running backup holds this replication slot.
  const slot = "select pg_create_physical_replication_slot('tokenmarket_backup', true, true)";
  await inSession(books.server.adminConnectionString, async (client) => {
    await client.query(slot);
    await expect(books.backUp()).rejects.toThrow(/another program makes a backup of this database/);
  });
  expect(readdirSync(books.backups)).toEqual(before);
});

test("a backup whose server ends the connection says why, and leaves nothing", async () => {
  const before = readdirSync(books.backups);
  const sql = `select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'tokenmarket-backup'`;
  await inSession(books.server.adminConnectionString, async (client) => {
    await Promise.all([
      expect(books.backUp()).rejects.toThrow(/stopped, or wrote more log meanwhile/),
      until("its connection is ended", async () => (await client.query(sql)).rowCount === 1),
    ]);
  });
  expect(readdirSync(books.backups)).toEqual(before);
});

test("only its owner can read a backup", () => {
  const modes = [
    books.backups,
    newest(),
    join(newest(), "files", "global"),
    join(newest(), "files", "global", "pg_control"),
    join(newest(), "backup.json"),
  ].map((path) => statSync(path).mode & 0o777);
  expect(modes).toEqual([0o700, 0o700, 0o700, 0o600, 0o600]);
});

test("a backup that was changed anywhere is refused, and its restore leaves nothing", async () => {
  const files = join(newest(), "files");
  const segment = readdirSync(join(files, "pg_wal")).find((name) => /^[0-9A-F]{24}$/.test(name));
  const flipped = (bytes: Buffer): Buffer => {
    bytes.writeUInt8(bytes.readUInt8(200) ^ 1, 200);
    return bytes;
  };
  await withChanged(join(files, "pg_xact/0000"), flipped, async () => {
    expect(await refusal()).toContain("pg_xact/0000 is not what was copied: it was changed");
  });
  const gone = (): undefined => undefined;
  await withChanged(join(files, `pg_wal/${segment}`), gone, async () => {
    expect(await refusal()).toContain(`pg_wal/${segment} is missing`);
  });
  const manifest = join(newest(), "backup.json");
  const replaced = (from: RegExp, to: string) => (bytes: Buffer) =>
    Buffer.from(bytes.toString().replace(from, to));
  for (const change of [
    replaced(/"path":"[^"]+"/, '"path":"../../outside"'),
    replaced(/"folders":\["/, '"folders":["/tmp/outside","'),
    replaced(/}\n$/, ""),
  ]) {
    await withChanged(manifest, change, async () => {
      expect(await refusal()).toMatch(/backup\.json is damaged/);
    });
  }
  const later = replaced(/"restore_point":"/, '"restore_point":"later-');
  await withChanged(manifest, later, async () => {
    expect(await refusal()).toMatch(/ended before configured recovery target was reached/);
  });
  await withChanged(manifest, replaced(/credits \d+/, "credits 9"), async () => {
    expect(await failedChecks()).toEqual([expect.stringMatching(/^found .* noted .* credits 9,/)]);
  });
  expect(await refusal({ from: join(books.root, "nowhere") })).toMatch(/there is no backup in/);
});

test("backup verify exits with 1 for a damaged copy, and removes the folder of a killed run", async () => {
  const dataDir = join(books.root, "verifying");
  const nameOf = (owner: string): string => `verify-${owner}-abcdef`;
  const running = nameOf(ownIdentity());
  for (const name of [nameOf("999999999-1"), running]) {
    mkdirSync(join(dataDir, name, "postgres"), { recursive: true });
  }
  const flipped = (bytes: Buffer): Buffer => bytes.fill(1, 0, 9);
  await withChanged(join(newest(), "files", "pg_xact/0000"), flipped, async () => {
    const verify = ["backup", "verify", "--from", books.backups, "--data", dataDir];
    const detail = expect.stringContaining("pg_xact/0000 is not what was copied");
    const json = { ok: false, folder: newest(), checks: [{ id: "copy", ok: false, detail }] };
    expect(await jsonCommand(verify)).toMatchObject({ code: 1, json });
  });
  expect(readdirSync(dataDir)).toEqual([running]);
});

test("a restore refuses a running database and a folder that is not empty", async () => {
  const running = join(books.root, "data");
  expect(await refusal({ dataDir: running })).toMatch(/a database runs in .*: nothing is restored/);
  const dataDir = join(books.root, "taken");
  const cluster = join(dataDir, "postgres", "cluster");
  mkdirSync(cluster, { recursive: true });
  writeFileSync(join(cluster, "note"), "mine");
  expect(await refusal({ dataDir })).toMatch(/is not empty: nothing is restored over/);
  expect(readdirSync(cluster)).toEqual(["note"]);
});

test("backup create adds one entry to the change log, and backup restore restores that state", async () => {
  await grant("before", 7_000_000n);
  const to = ["--to", join(books.root, "by-hand")];
  const data = ["--data", join(books.root, "data"), "--by", "ann"];
  const made = await jsonCommand(["backup", "create", ...to, ...data]);
  expect(made).toMatchObject({ code: 0 });
  const change = { target: made.json["folder"], by: { kind: "operator" }, before: null };
  expect(await changesOf(books.backend, "backup.create")).toMatchObject([change]);
  await grant("after", 1_000_000n);
  const restored = ["--data", join(books.root, "restored")];
  const from = ["--from", join(books.root, "by-hand")];
  const json = { from: made.json["folder"], copy_of: made.json["finished_at"] };
  const back = await jsonCommand(["backup", "restore", ...from, ...restored]);
  expect(back).toMatchObject({ code: 0, json });
  const of = ["--org", books.orgId, ...restored];
  const entries = JSON.stringify((await jsonCommand(["credit", "ledger", ...of])).json);
  expect([entries.includes('"before"'), entries.includes('"after"')]).toEqual([true, false]);
});
