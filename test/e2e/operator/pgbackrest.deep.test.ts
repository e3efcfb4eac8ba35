import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { expect, test } from "vitest";

import { openPostgresBackend } from "../../../src/app/open-postgres-backend.ts";
import { microUsd, openPool } from "../../../src/kernel/index.ts";
import { addOrg } from "../../support/add-key.ts";
import { until } from "../../support/books.ts";
import { newPostgresFolder, openOwnPostgres, runAsPostgres } from "../../support/own-postgres.ts";
import { hasPgbackrest, startArchivingPostgres } from "../../support/pgbackrest.ts";
import { silentLog as log } from "../../support/silent-log.ts";
import { testOperator } from "../../support/test-operator.ts";

test.skipIf(!hasPgbackrest)(
  "the shipped pgBackRest files restore a second database to a time between two grants",
  async () => {
    const { server, pgbackrest, close } = await startArchivingPostgres();
    const { connectionString } = server;
    const ask = async (sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> => {
      const pool = openPool(connectionString, log, 1);
      const { rows } = await pool.query<Record<string, unknown>>(sql);
      await pool.end();
      return rows;
    };
    const backend = openPostgresBackend({ connectionString, log });
    await backend.migrate();
    pgbackrest("backup");
    const orgId = await addOrg(backend);
    const amountMicroUsd = microUsd(5n);
    await backend.creditStore.grant({ orgId, amountMicroUsd, ref: "first" }, testOperator);
    // A backup is dated to the second of its end, and only later times can be restored.
    await sleep(1_100);
    const between = String((await ask("select clock_timestamp()::text as at"))[0]?.["at"]);
    await sleep(50);
    await backend.creditStore.grant({ orgId, amountMicroUsd, ref: "second" }, testOperator);
    await backend.close();
    pgbackrest("check");
    await server.stop();

    const beside = newPostgresFolder();
    const data = join(beside, "data");
    runAsPostgres("mkdir", "-m", "700", data);
    const target = ["--type=time", `--target=${between}`, "--target-action=promote"];
    pgbackrest(`--pg1-path=${data}`, ...target, "restore");
    const restored = await openOwnPostgres(beside);
    // The server also answers queries while it replays its write-ahead log.
    const isOver = "select not pg_is_in_recovery() as is_over";
    await until("the replay is over", async () => (await ask(isOver))[0]?.["is_over"] === true);
    const books = openPostgresBackend({ connectionString, log });
    expect(await ask("select ref from transfer")).toEqual([{ ref: "first" }]);
    expect((await books.audit()).filter(({ violations }) => violations > 0)).toEqual([]);
    await books.close();
    await restored.close();
    await close();
  },
);
