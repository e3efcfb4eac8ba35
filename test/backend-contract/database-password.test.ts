import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";

import { databasePassword } from "../../src/app/database-password.ts";
import { openLogging } from "../../src/app/logging.ts";
import { openBackend } from "../../src/app/open-backend.ts";
import { loadConfig } from "../../src/kernel/config/load-config.ts";
import type { Config } from "../../src/kernel/config/settings.ts";
import { createRecordId } from "../../src/kernel/core/ids.ts";
import { PROGRAM_ROLE } from "../../src/kernel/storage/embedded-database.ts";
import { until } from "../support/books.ts";
import { asAdmin, databaseOfTest } from "../support/postgres.ts";
import { newFolder } from "../support/run-folder.ts";

function configOf(databaseUrl: string, databasePasswordFile: string): Config {
  const outcome = loadConfig({ flags: { databaseUrl, databasePasswordFile }, env: {} });
  if (outcome.kind === "invalid") throw new Error(outcome.problems.join("\n"));
  return outcome.config;
}

function passwordFile(): string {
  const folder = newFolder("password");
  return join(folder, "password");
}

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
  const backend = await openBackend({
    config: configOf(url.href, file),
    log: openLogging({ level: "silent", secrets: [], output: process.stderr }).log,
    hide: (secrets) => hidden.push(...secrets),
  });
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
  const open = (url: string): unknown => databasePassword(configOf(url, file));
  expect(() => open("postgres://u@db/x")).toThrow(
    `DATABASE_PASSWORD_FILE: ${file} cannot be read (ENOENT)`,
  );
  writeFileSync(file, "hush-hush\n");
  for (const url of ["postgres://u:other@db/x", "postgres://u@db/x?password=other"]) {
    expect(() => open(url)).toThrow("DATABASE_URL has a password");
  }
  expect(() => open("")).toThrow("DATABASE_URL is not");
});
