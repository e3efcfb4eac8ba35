import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";

import { expect, test } from "vitest";

import {
  type BackupManifest,
  readBackup,
  type SignedBackup,
} from "../../../src/backup/backup-manifest.ts";
import { restoreBackup } from "../../../src/backup/restore-backup.ts";
import { verifyBackup } from "../../../src/backup/verify-backup.ts";
import { microUsd, systemClock as clock } from "../../../src/core/index.ts";
import { openSigningKey } from "../../../src/ledger/index.ts";
import { MIGRATIONS_FOLDER, readMigrations } from "../../../src/storage/migration-files.ts";
import { changesOf } from "../../support/change-writes.ts";
import { openBackupFixture } from "../../support/backup-fixture.ts";
import { runCommand } from "../../support/program.ts";
import { silentLog as log } from "../../support/silent-log.ts";
import { testOperator } from "../../support/test-operator.ts";
import { withResource } from "../../support/with-resource.ts";

const books = withResource(openBackupFixture);

/** A restore that is refused, and leaves nothing. */
async function refusal(over: object = {}): Promise<string> {
  const dataDir = join(books.root, "refused");
  const trusted = books.key.publicKey;
  const restored = restoreBackup({
    from: books.backups,
    at: "end",
    trusted,
    dataDir,
    log,
    ...over,
  });
  const message = await restored.then(
    () => "restored",
    (fault: unknown) => (fault as Error).message,
  );
  const cluster = join(dataDir, "postgres", "cluster");
  expect(existsSync(cluster) ? readdirSync(cluster) : [], message).toEqual([]);
  return message;
}

/** Runs `work` on a file that was changed, or that is missing for `undefined`. */
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

function read(text: string): BackupManifest {
  return { ...(readBackup(text) as SignedBackup) };
}

function flipped(bytes: Buffer, offset = bytes.length >> 1): Buffer {
  bytes.writeUInt8(bytes.readUInt8(offset) ^ 1, offset);
  return bytes;
}

test("a backup is proved by restoring it: its sums, its books, the log behind it", async () => {
  const grant = { orgId: books.orgId, amountMicroUsd: microUsd(7_000_000n), ref: "first" };
  await books.backend.creditStore.grant(grant, testOperator);
  const made = await books.backUp();
  expect(made.sums).toMatchObject({ debits: 7_000_000n, credits: 7_000_000n });
  expect(made.schema).toBe(readMigrations(MIGRATIONS_FOLDER).at(-1)?.name);
  const scratchDir = join(books.root, "scratch");
  const trusted = books.key.publicKey;
  const verified = await verifyBackup({ from: books.backups, trusted, scratchDir, log, clock });
  expect(verified.checks.map(({ id, ok }) => [id, ok])).toEqual([
    ["copy", true],
    ["sums", true],
    ["books", true],
    ["log", true],
  ]);
  expect(readdirSync(scratchDir)).toEqual([]);
  const key = join(books.root, "key.pem");
  const listed = await runCommand([
    "backup",
    "list",
    "--from",
    books.backups,
    "--public-key",
    key,
    "--json",
  ]);
  expect(JSON.parse(listed.stdout)).toMatchObject({
    ok: true,
    backups: [{ folder: books.newest(), problem: null, verified_at: expect.any(String) as string }],
  });
  await expect(refusal({ dataDir: join(books.root, "data") })).resolves.toMatch(
    /a database runs in/,
  );
});

test("nobody else can read a backup", () => {
  const modes = [
    books.backups,
    books.newest(),
    join(books.newest(), "files", "global"),
    join(books.newest(), "backup.json"),
  ].map((path) => statSync(path).mode & 0o777);
  expect(modes).toEqual([0o700, 0o700, 0o700, 0o600]);
});

test("a backup that was changed is refused, whatever was changed, and nothing is left of a restore", async () => {
  const file = join(books.newest(), "files", "pg_xact", "0000");
  await withChanged(
    file,
    (bytes) => flipped(bytes),
    async () => {
      expect(await refusal()).toMatch(/pg_xact\/0000 is not what was copied: it was changed/);
    },
  );
  await withChanged(
    file,
    () => undefined,
    async () => {
      expect(await refusal()).toMatch(/pg_xact\/0000 is missing/);
    },
  );
  const manifest = join(books.newest(), "backup.json");
  const richer = (bytes: Buffer): Buffer =>
    Buffer.from(bytes.toString().replaceAll('"7000000"', '"9000000"'));
  await withChanged(manifest, richer, async () => {
    expect(await refusal()).toMatch(/the signature is wrong: backup.json was changed/);
  });
  const trusted = openSigningKey(join(books.root, "other.pem")).publicKey;
  expect(await refusal({ trusted })).toMatch(/it is of another key than the one that is trusted/);
});

test("a log with a hole is refused, and so is one that was changed", async () => {
  const life = join(books.newest(), "..");
  const { firstSegment } = read(readFileSync(join(books.newest(), "backup.json"), "utf8"));
  const first = join(life, "wal", `${firstSegment}.gz`);
  await withChanged(
    first,
    () => undefined,
    async () => {
      expect(await refusal()).toMatch(/segment [0-9A-F]{24} of the log is missing/);
    },
  );
  const list = join(life, "wal.ndjson");
  const relabelled = (bytes: Buffer): Buffer =>
    Buffer.from(bytes.toString().replaceAll(/"sha256":"../g, '"sha256":"zz'));
  await withChanged(list, relabelled, async () => {
    expect(await refusal()).toMatch(/lines have a wrong signature/);
  });
  const emptied = (): Buffer => Buffer.alloc(0);
  await withChanged(list, emptied, async () => {
    expect(await refusal()).toMatch(/of the log is not in wal.ndjson/);
  });
  // Near its begin, where the records are: the rest of a segment is empty.
  await withChanged(
    first,
    (bytes) => flipped(bytes, 200),
    async () => {
      expect(await refusal()).toMatch(/of the log (?:cannot be read|is not what was archived)/);
    },
  );
  expect(await refusal({ from: join(books.root, "nowhere") })).toMatch(/there is no backup in/);
});

test("a folder with anything in it is never restored to", async () => {
  const dataDir = join(books.root, "taken");
  const cluster = join(dataDir, "postgres", "cluster");
  mkdirSync(cluster, { recursive: true });
  writeFileSync(join(cluster, "note"), "mine");
  const trusted = books.key.publicKey;
  const options = { from: books.backups, at: "end", trusted, dataDir, log } as const;
  await expect(restoreBackup(options)).rejects.toThrow(/is not empty: nothing is restored over/);
  expect(readdirSync(cluster)).toEqual(["note"]);
});

test("a time that no calendar has is refused, and taken for no other", async () => {
  const args = ["--from", books.backups, "--any-key", "--data", join(books.root, "no-time")];
  const never = ["--at", "2026-02-30T10:00:00Z"];
  const refused = await runCommand(["backup", "restore", ...args, ...never]);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain("--at must be a time with its zone");
  expect(existsSync(join(books.root, "no-time"))).toBe(false);
});

test("a backup that an operator makes is one change", async () => {
  const folders = ["--data", join(books.root, "data"), "--by", "ann", "--json"];
  const made = await runCommand(["backup", "create", ...folders], {
    TM_BACKUP_FOLDER: books.backups,
    TM_RETENTION_SIGNING_KEY_FILE: join(books.root, "key.pem"),
  });
  expect(made.code, made.stderr).toBe(0);
  const recorded = await changesOf(books.backend, "backup.create");
  expect(recorded).toMatchObject([
    { target: basename(books.newest()), by: { kind: "operator" }, before: null },
  ]);
});
