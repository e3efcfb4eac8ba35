import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { expect, test } from "vitest";

import { openPostgresBackend } from "../../../src/app/open-postgres-backend.ts";
import { onServer } from "../../../src/backup/backup-server.ts";
import { copyData } from "../../../src/backup/data-copy.ts";
import { microUsd } from "../../../src/core/index.ts";
import { chooseSystemUser } from "../../../src/storage/embedded-user.ts";
import { freePort } from "../../support/free-port.ts";
import { orgWithKey } from "../../support/ledger-rows.ts";
import { withPricedBackend } from "../../support/postgres.ts";
import { silentLog as log } from "../../support/silent-log.ts";
import { testOperator } from "../../support/test-operator.ts";

const BIN = "/usr/lib/postgresql/15/bin";
const DEPLOY = resolve(import.meta.dirname, "../../../deploy/postgres");
const hasDebianPostgres = existsSync(join(BIN, "initdb"));
const hasPgbackrest = hasDebianPostgres && spawnSync("pgbackrest", ["version"]).status === 0;
const user = chooseSystemUser(undefined);

if (!hasDebianPostgres || !hasPgbackrest) {
  const missing = hasDebianPostgres ? "pgbackrest is not on PATH" : `${BIN} is not there`;
  process.stderr.write(
    `\n!!! SKIPPED: ${missing}: backups of, or copies to, a PostgreSQL of yours were NOT tested. ` +
      "Install postgresql-15 and pgbackrest and run again.\n\n",
  );
}

const embedded = withPricedBackend();

function run(program: string, args: readonly string[]): void {
  const result = spawnSync(program, args, { ...user, cwd: "/", encoding: "utf8" });
  if (result.status !== 0) throw new Error(`${program}: ${result.stderr}${result.stdout}`);
}

interface OwnPostgres {
  readonly folder: string;
  readonly url: string;
}

/** A Debian PostgreSQL on a folder of the database's user, for as long as `work` runs. */
async function withOwnPostgres(
  folder: string,
  more: string,
  work: (own: OwnPostgres) => Promise<void>,
): Promise<void> {
  const port = await freePort();
  const options = `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1 ${more}`;
  run(`${BIN}/pg_ctl`, ["-D", folder, "-o", options, "-l", `${folder}.log`, "-w", "start"]);
  try {
    await work({ folder, url: `postgres://postgres@127.0.0.1:${port}/postgres` });
  } finally {
    run(`${BIN}/pg_ctl`, ["-D", folder, "-m", "immediate", "-w", "stop"]);
  }
}

async function inRoot(work: (root: string) => Promise<void>): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), "tokenmarket-own-"));
  chmodSync(root, 0o755);
  if (user !== undefined) chownSync(root, user.uid, user.gid);
  try {
    await work(root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function makeCluster(folder: string): void {
  run(`${BIN}/initdb`, ["-D", folder, "-U", "postgres", "--auth=trust", "--locale=C", "-EUTF8"]);
}

async function expectCleanBooks(connectionString: string): Promise<void> {
  const backend = openPostgresBackend({ connectionString, log });
  try {
    expect((await backend.audit()).filter(({ violations }) => violations > 0)).toEqual([]);
  } finally {
    await backend.close();
  }
}

test.skipIf(!hasDebianPostgres)(
  "the embedded data moves to a PostgreSQL of another major version",
  async () => {
    await orgWithKey(embedded, { creditMicroUsd: 2_000n });
    await inRoot(async (root) => {
      makeCluster(join(root, "data"));
      await withOwnPostgres(join(root, "data"), "", async ({ url }) => {
        const backend = openPostgresBackend({ connectionString: url, log });
        await backend.migrate();
        await backend.close();
        const { sums } = await copyData({
          from: embedded.connectionString,
          to: url,
          log,
          by: testOperator,
        });
        expect(sums.credits).toBe(2_000n);
        await expectCleanBooks(url);
      });
    });
  },
);

test.skipIf(!hasPgbackrest)(
  "the shipped pgBackRest files restore to a time between two grants",
  async () => {
    await inRoot(async (root) => {
      const data = join(root, "data");
      makeCluster(data);
      for (const name of ["repo", "lock", "restored"]) {
        mkdirSync(join(root, name), { mode: 0o700 });
        if (user !== undefined) chownSync(join(root, name), user.uid, user.gid);
      }
      const config = join(root, "pgbackrest.conf");
      const archiving = readFileSync(join(DEPLOY, "archiving.conf"), "utf8");
      appendFileSync(
        join(data, "postgresql.conf"),
        archiving.replace("pgbackrest ", `pgbackrest --config=${config} `),
      );
      const pgbackrest = (...args: string[]): void =>
        run("pgbackrest", [`--config=${config}`, "--stanza=tokenmarket", ...args]);
      let between = "";
      await withOwnPostgres(data, "", async ({ url }) => {
        const shipped = readFileSync(join(DEPLOY, "pgbackrest.conf"), "utf8")
          .replace("/var/lib/pgbackrest", join(root, "repo"))
          .replace("/var/lib/postgresql/18/main", data)
          .replace("pg1-port=5432", `pg1-port=${new URL(url).port}\npg1-socket-path=${data}`);
        writeFileSync(config, `${shipped}\n[global]\nlock-path=${join(root, "lock")}\n`);
        chmodSync(config, 0o644);
        const backend = openPostgresBackend({ connectionString: url, log });
        await backend.migrate();
        pgbackrest("stanza-create");
        pgbackrest("check");
        pgbackrest("backup");
        const { orgId } = await backend.accountStore.createOrg(
          { name: "Own", email: "o@example.com" },
          testOperator,
        );
        const amountMicroUsd = microUsd(5n);
        await backend.creditStore.grant({ orgId, amountMicroUsd, ref: "first" }, testOperator);
        // A copy is known by the second in which it ended: only times after that one can be restored.
        await sleep(1_100);
        between = await onServer(url, async (client) => {
          const { rows } = await client.query<{ at: string }>(
            "select clock_timestamp()::text as at",
          );
          return rows[0]?.at ?? "";
        });
        await sleep(50);
        await backend.creditStore.grant({ orgId, amountMicroUsd, ref: "second" }, testOperator);
        expect(await backend.walUnarchivedS()).toBeGreaterThanOrEqual(0);
        await backend.close();
        pgbackrest("check");
      });
      const restored = join(root, "restored");
      const target = [`--target=${between}`, "--target-action=promote"];
      pgbackrest(`--pg1-path=${restored}`, "--type=time", ...target, "restore");
      await withOwnPostgres(restored, "-c archive_mode=off", async ({ url }) => {
        const refs = await onServer(url, async (client) => {
          const { rows } = await client.query<{ ref: string }>(
            "select ref from transfer order by ref",
          );
          return rows.map(({ ref }) => ref);
        });
        expect(refs).toEqual(["first"]);
        await expectCleanBooks(url);
      });
    });
  },
);
