import { expect, onTestFinished, test } from "vitest";

import { openBackend } from "../../src/app/open-backend.ts";
import { openLogging } from "../../src/app/logging.ts";
import { loadConfig } from "../../src/kernel/config/load-config.ts";
import { SETTINGS } from "../../src/kernel/config/settings.ts";
import { OTHER_CONNECTIONS_MAX } from "../../src/kernel/core/constants.ts";
import { until } from "../support/books.ts";
import { databaseOfTest } from "../support/postgres.ts";
import { readSql } from "../support/sql.ts";

const POOL_MAX = 2;
const MANY = 8;

test("a process opens exactly as many database connections as its pool setting documents", async () => {
  const flags = { databaseUrl: await databaseOfTest(), databasePoolMax: POOL_MAX };
  const outcome = loadConfig({ flags, env: {} });
  if (outcome.kind === "invalid") throw new Error(outcome.problems.join("\n"));
  const { config } = outcome;
  const { log } = openLogging({ level: "silent", secrets: [], output: process.stderr });
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
