import { setTimeout as sleep } from "node:timers/promises";

import { describe, expect, test } from "vitest";

import { ask, type HttpAnswer } from "../../support/ask.ts";
import { until } from "../../support/books.ts";
import { openAccount, withSimulator } from "../../support/gateway.ts";
import { serve, withOperatorFolder, withPrograms } from "../../support/operator.ts";
import { withBackend } from "../../support/postgres.ts";
import { redisProgram } from "../../support/redis.ts";
import { MASTER, startSentinels } from "../../support/sentinels.ts";
import { withResource } from "../../support/with-resource.ts";

const PER_MINUTE = 30;
const ASK_EVERY_MS = 40;
/** A window counts a request for 60 to 61 s, so no span of 59 s may exceed the limit. */
const WINDOW_MS = 59_000;
const DOWNTIME_MS_MAX = 20_000;

interface Answered {
  readonly atMs: number;
  readonly status: number;
}

describe.skipIf(redisProgram === undefined)("limits in a Redis that sentinels watch", () => {
  const simulator = withSimulator();
  const folder = withOperatorFolder(simulator);
  const backend = withBackend();
  const sentinels = withResource(startSentinels, (each) => each.close());
  const gateways = withPrograms(() => {
    const env = {
      DATABASE_URL: backend.connectionString,
      REDIS_URL: sentinels.url,
      TM_REDIS_MODE: "sentinel",
      TM_REDIS_MASTER: MASTER,
    };
    return [serve(folder, env), serve(folder, env)];
  });

  test("a master that dies or hangs causes 503s until another is elected, and no limit is exceeded", async () => {
    await sentinels.whole();
    const account = await openAccount(backend, "10", { requestsPerMinute: PER_MINUTE });
    const answers: Answered[] = [];
    const run = { isOver: false };
    const askOn = async (url: string): Promise<void> => {
      while (!run.isOver) {
        const answer: HttpAnswer = await ask(url, {
          key: account.key,
          wire: "wire_a",
          model: "op/model",
          text: "hi",
        });
        answers.push({ atMs: performance.now(), status: answer.status });
        await sleep(ASK_EVERY_MS);
      }
    };
    const traffic = gateways.map((each) => askOn(String(each.ready["gateway_url"])));
    const served = (): number => answers.filter(({ status }) => status === 200).length;
    const answeredAfter = (ms: number, status: number): boolean =>
      answers.some((each) => each.atMs > ms && each.status === status);

    // The minute's requests are used up; then the Redis server that has counted them dies.
    await until("the limit is reached", () => served() >= PER_MINUTE);
    const dead = await sentinels.master();
    const diedMs = performance.now();
    await dead.kill();
    await until("requests are refused as unavailable", () => answeredAfter(diedMs, 503));
    await until("another server is master", async () => (await sentinels.master()) !== dead);
    const secondMs = performance.now();
    await until("limits answer again", () => answeredAfter(secondMs, 429));
    expect(performance.now() - diedMs).toBeLessThan(DOWNTIME_MS_MAX);

    // The dead server returns as a replica; then the new master hangs and later continues.
    await dead.restart();
    await sentinels.whole();
    await until("the next minute is used up", () => served() >= 2 * PER_MINUTE, 90_000);
    const hung = await sentinels.master();
    expect(hung).not.toBe(dead);
    hung.pause();
    const hungMs = performance.now();
    await until("requests are refused as unavailable", () => answeredAfter(hungMs, 503));
    await until("another server is master", async () => (await sentinels.master()) !== hung);
    const thirdMs = performance.now();
    await until("limits answer again", () => answeredAfter(thirdMs, 429));
    hung.resume();
    await sentinels.whole();
    run.isOver = true;
    await Promise.all(traffic);

    const statuses = new Set(answers.map(({ status }) => status));
    expect([...statuses].toSorted((a, b) => a - b)).toEqual([200, 429, 503]);
    expect(mostInAWindow(answers)).toBeLessThanOrEqual(PER_MINUTE);
    // The gateways went on without a restart.
    for (const { process } of gateways) expect(process.exitCode).toBeNull();
  });
});

/** The most requests that were served within any `WINDOW_MS`. */
function mostInAWindow(answers: readonly Answered[]): number {
  const times = answers.filter(({ status }) => status === 200).map(({ atMs }) => atMs);
  const counts = times.map(
    (from) => times.filter((at) => at >= from && at < from + WINDOW_MS).length,
  );
  return Math.max(...counts);
}
