import { setTimeout as sleep } from "node:timers/promises";

import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";

import { withSimulator } from "../../support/gateway.ts";
import { withOperatorFolder } from "../../support/operator.ts";
import { problemsOf, quantileMs } from "../../support/steady-traffic.ts";
import { beginUpgrade } from "../../support/upgrade.ts";

const PER_SECOND = 100;
const WINDOW_MS = 30_000;
const REPORT_MS = 12_000;
/** How long a migration step may wait for a lock, and until the server has ended that wait. */
const BLOCKED_MAX_MS = 3_000 + 500;
const LOOK_EVERY_MS = 20;
/** Latencies below this are noise: a single slow moment of the machine takes longer. */
const P99_FLOOR_MS = 25;

const simulator = withSimulator();
const folder = withOperatorFolder(simulator);

test("the p99 latency of requests at most doubles while the steps of a migration run and after", async () => {
  const upgrade = await beginUpgrade(folder);
  const gateway = await upgrade.serve();
  const warm = upgrade.traffic(gateway, PER_SECOND);
  await sleep(5_000);
  expect(problemsOf(await warm.stop())).toEqual([]);
  const quiet = upgrade.traffic(gateway, PER_SECOND);
  await sleep(WINDOW_MS);
  const before = await quiet.stop();
  const busy = upgrade.traffic(gateway, PER_SECOND);
  await sleep(1_000);
  await upgrade.migrate();
  await sleep(WINDOW_MS);
  const during = await busy.stop();
  expect(problemsOf([...before, ...during])).toEqual([]);
  const [was, is] = [quantileMs(before, 0.99), quantileMs(during, 0.99)];
  process.stderr.write(
    `upgrade: p99 ${was.toFixed(1)} ms of ${before.length} requests before, ` +
      `${is.toFixed(1)} ms of ${during.length} while steps ran and after\n`,
  );
  expect(is).toBeLessThanOrEqual(2 * Math.max(was, P99_FLOOR_MS));
  expect(await gateway.end("SIGTERM")).toBe(0);
  expect(await upgrade.audit()).toBe(0);
});

/**
 * Repeatedly reads how long the program's statements have waited for a lock, by the server's clock.
 * `stop` returns the longest wait. How slowly a busy machine serves statements after their wait
 * does not matter.
 */
function watchLocks(connectionString: string): { stop(): Promise<number> } {
  const over = new AbortController();
  const look = async (): Promise<number> => {
    const client = new Client({ connectionString });
    await client.connect();
    let longestMs = 0;
    while (!over.signal.aborted) {
      const { rows } = await client.query<{ ms: string | null }>(LONGEST_WAIT_SQL);
      longestMs = Math.max(longestMs, Number(rows[0]?.ms ?? 0));
      await sleep(LOOK_EVERY_MS);
    }
    await client.end();
    return longestMs;
  };
  const looked = look();
  return {
    stop: async () => {
      over.abort();
      return await looked;
    },
  };
}

const LONGEST_WAIT_SQL = `
  select max(extract(epoch from clock_timestamp() - waitstart) * 1000) as ms
    from pg_locks join pg_stat_activity using (pid)
    where not granted and application_name like 'tokenmarket %' and datname = current_database()`;

test("a long report that blocks a migration step fails no request, and no lock wait exceeds 3.5 s", async () => {
  const upgrade = await beginUpgrade(folder);
  const gateway = await upgrade.serve();
  const report = new Client({ connectionString: upgrade.connectionString });
  await report.connect();
  onTestFinished(() => report.end());
  await report.query("begin; select count(*) from transfer; select count(*) from attempt");
  const locks = watchLocks(upgrade.connectionString);
  const busy = upgrade.traffic(gateway, PER_SECOND);
  const tried: object[] = [];
  const log = { info: () => undefined, warn: (line: object) => void tried.push(line) };
  const upgraded = upgrade.migrate({ log });
  await sleep(REPORT_MS);
  await report.query("commit");
  expect(await upgraded).toEqual(["columns", "transfers"]);
  const sent = await busy.stop();
  const [waitedMs, longestMs] = [await locks.stop(), quantileMs(sent, 1)];
  process.stderr.write(
    `upgrade: behind a report, the longest of ${sent.length} requests took ${longestMs.toFixed(0)} ms, ` +
      `the longest wait for a lock ${waitedMs.toFixed(0)} ms\n`,
  );
  expect(problemsOf(sent)).toEqual([]);
  // The report did block statements, but for no longer than a migration step may.
  expect(waitedMs).toBeGreaterThan(0);
  expect(waitedMs).toBeLessThan(BLOCKED_MAX_MS);
  expect(tried.length).toBeGreaterThan(2);
  expect(await gateway.end("SIGTERM")).toBe(0);
  expect(await upgrade.audit()).toBe(0);
});
