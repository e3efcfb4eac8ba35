import { setTimeout as sleep } from "node:timers/promises";

import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";

import { withSimulator } from "../../support/gateway.ts";
import { withOperatorFolder } from "../../support/operator.ts";
import { problemsOf, quantileMs } from "../../support/steady-traffic.ts";
import { beginUpgrade } from "../../support/upgrade.ts";

const PER_SECOND = 100;
/** Those that wait for a step come all at once: few enough for a busy machine to serve them in time. */
const PER_SECOND_BEHIND_STEPS = 20;
const WINDOW_MS = 30_000;
const REPORT_MS = 12_000;
/** The time for which a step may hold up a reserve, and the request's own time on a busy machine. */
const BLOCKED_MAX_MS = 3_000 + 1_000;
/** Latencies below this are noise: a single slow moment of the machine takes longer. */
const P99_FLOOR_MS = 25;

const simulator = withSimulator();
const folder = withOperatorFolder(simulator);

test("requests take no more than twice as long while steps run and after them", async () => {
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

test("a long report in the way of a step makes no request fail, and none wait over 3 s", async () => {
  const upgrade = await beginUpgrade(folder);
  const gateway = await upgrade.serve();
  const report = new Client({ connectionString: upgrade.connectionString });
  await report.connect();
  onTestFinished(() => report.end());
  await report.query("begin; select count(*) from transfer; select count(*) from attempt");
  const busy = upgrade.traffic(gateway, PER_SECOND_BEHIND_STEPS);
  const tried: object[] = [];
  const log = { info: () => undefined, warn: (line: object) => void tried.push(line) };
  const upgraded = upgrade.migrate({ log });
  await sleep(REPORT_MS);
  await report.query("commit");
  expect(await upgraded).toEqual(["columns", "transfers"]);
  const sent = await busy.stop();
  const longest = quantileMs(sent, 1);
  process.stderr.write(`upgrade: behind a report, the longest of ${sent.length}: ${longest} ms\n`);
  expect(longest).toBeLessThan(BLOCKED_MAX_MS);
  expect(problemsOf(sent)).toEqual([]);
  expect(tried.length).toBeGreaterThan(2);
  expect(await gateway.end("SIGTERM")).toBe(0);
  expect(await upgrade.audit()).toBe(0);
});
