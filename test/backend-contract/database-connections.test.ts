import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";

import { databasePassword } from "../../src/app/database-password.ts";
import { openLogging } from "../../src/app/logging.ts";
import { openBackend } from "../../src/app/open-backend.ts";
import { loadConfig } from "../../src/kernel/config/load-config.ts";
import { type Config, SETTINGS } from "../../src/kernel/config/settings.ts";
import { OTHER_CONNECTIONS_MAX } from "../../src/kernel/core/constants.ts";
import { createRecordId } from "../../src/kernel/core/ids.ts";
import { PROGRAM_ROLE } from "../../src/kernel/storage/embedded-database.ts";
import { until } from "../support/books.ts";
import { asAdmin, databaseOfTest } from "../support/postgres.ts";
import { newFolder } from "../support/run-folder.ts";
import { readSql } from "../support/sql.ts";

const POOL_MAX = 2;
const MANY = 8;

const { log } = openLogging({ level: "silent", secrets: [], output: process.stderr });

function configOf(flags: Readonly<Record<string, string | number>>): Config {
  const outcome = loadConfig({ flags, env: {} });
  if (outcome.kind === "invalid") throw new Error(outcome.problems.join("\n"));
  return outcome.config;
}

const passwordFile = (): string => join(newFolder("password"), "password");

test("a rotated password is used by every later connection", async () => {
  const connectionString = await databaseOfTest();
  const admin = new Client({ connectionString: await asAdmin({ connectionString }) });
  admin.on("error", () => undefined);
  await admin.connect();
  const [role, file] = [createRecordId("test"), passwordFile()];
  const rotate = async (verb: string, password: string): Promise<void> => {
    await admin.query(`${verb} role ${role} login password '${password}'`);
  };
  await rotate("create", "first-password");
  await admin.query(`grant ${PROGRAM_ROLE} to ${role}`);
  onTestFinished(() => admin.end());
  writeFileSync(file, "first-password\n");
  const url = new URL(connectionString);
  [url.username, url.password] = [role, ""];
  const hidden: string[] = [];
  const config = configOf({ databaseUrl: url.href, databasePasswordFile: file });
  const hide = (secrets: readonly string[]): number => hidden.push(...secrets);
  const backend = await openBackend({ config, log, hide });
  onTestFinished(() => backend.close());
  // Uses every kind of connection: the pool, the reports, the ledger and the change notices.
  const useAll = (): Promise<unknown> =>
    Promise.all([
      backend.ping(),
      backend.readBooksFigures(),
      backend.ledgerBatchStore.closeBatch([]),
      backend.accountNotices.start(() => undefined),
    ]);
  const endAll = (): Promise<unknown> =>
    admin.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = $1", [
      role,
    ]);
  await useAll();

  await rotate("alter", "second-password");
  await useAll();
  await endAll();
  await until("the old password is refused", () =>
    backend.ping().then(
      () => false,
      (fault: Error) => fault.message.includes("password authentication failed"),
    ),
  );

  writeFileSync(file, "second-password\n");
  await until("everything is connected again", () =>
    useAll().then(
      () => true,
      () => false,
    ),
  );
  expect(new Set(hidden)).toEqual(new Set(["first-password", "second-password"]));
});

test("a password in two places or an unusable file is refused before a connection is opened", () => {
  const file = passwordFile();
  const open = (databaseUrl: string): unknown =>
    databasePassword(configOf({ databaseUrl, databasePasswordFile: file }));
  expect(() => open("postgres://u@db/x")).toThrow(
    `DATABASE_PASSWORD_FILE: ${file} cannot be read (ENOENT)`,
  );
  writeFileSync(file, "hush-hush\n");
  for (const url of ["postgres://u:other@db/x", "postgres://u@db/x?password=other"]) {
    expect(() => open(url)).toThrow("DATABASE_URL has a password");
  }
  expect(() => open("")).toThrow("DATABASE_URL is not");
});

test("a process opens exactly as many database connections as its pool setting documents", async () => {
  const config = configOf({ databaseUrl: await databaseOfTest(), databasePoolMax: POOL_MAX });
  const backend = await openBackend({ config, log });
  onTestFinished(() => backend.close());
  const many = <T>(ask: () => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: MANY }, ask));
  const member = await backend.ledgerBatchStore.join("counted", 60_000);
  await backend.accountNotices.start(() => undefined);
  const witness = { beat: 0n, attemptId: null, storeNowMs: member.storeNowMs };
  await backend.ledgerBatchStore.renewLease({ member, witness, leaseMs: 60_000, goesOn: false });
  await Promise.all([
    many(() => backend.ping()),
    many(() => backend.usageReports.substitutions()),
    backend.ledgerBatchStore.runBatch({ member, closings: [], holds: [] }),
    backend.ledgerBatchStore.closeBatch([]),
  ]);
  // `openBackend` first checks the server on other connections, which close a moment later.
  await until("the connections are those that stay", async () => {
    const [row] = await readSql({ config }, CONNECTIONS_SQL, []);
    return Number(row?.["connections"]) <= POOL_MAX + besides();
  });
  const counted = await readSql({ config }, CONNECTIONS_SQL, []);
  expect(counted).toEqual([{ connections: POOL_MAX + besides() }]);
  // By this number `serve --workers` knows how many processes fit.
  expect(besides()).toBe(OTHER_CONNECTIONS_MAX);
});

/** The number of connections in addition to the pool, as the setting's documentation states it. */
function besides(): number {
  const { doc } = SETTINGS.databasePoolMax;
  const numbers = doc.match(/\b\d+ (?=for|that)/g) ?? [];
  return numbers.reduce((sum, number) => sum + Number(number), 0);
}

const CONNECTIONS_SQL = `select count(*)::integer as connections from pg_stat_activity
  where datname = current_database() and application_name like 'tokenmarket%'`;
