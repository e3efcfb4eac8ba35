import { beforeAll, describe, expect, test } from "vitest";

import { ask, at, type HttpAnswer } from "../../support/ask.ts";
import { until } from "../../support/books.ts";
import {
  ANY_PORTS,
  jsonCommand,
  openAccountByCommands,
  OPERATOR_ENV,
  withOperatorFolder,
} from "../../support/operator.ts";
import { freshDatabase } from "../../support/postgres.ts";
import { runCommand, startProgram } from "../../support/program.ts";
import { redisProgram, startRedis } from "../../support/redis.ts";
import { withSimulator } from "../../support/gateway.ts";
import { withResource } from "../../support/with-resource.ts";

const simulator = withSimulator();
const folder = withOperatorFolder(simulator);

function serveArgs(workers: string): string[] {
  return ["serve", "--workers", workers, ...ANY_PORTS, "--manifests", folder.manifestsDir];
}

test("--workers without Redis or with a count of 0 is refused, and the message names the problem", async () => {
  for (const [count, words] of [
    ["2", "REDIS_URL"],
    ["0", "whole number from 1"],
  ] as const) {
    const { code, stderr } = await runCommand(serveArgs(count), OPERATOR_ENV);
    expect(code).toBe(2);
    expect(stderr).toContain(words);
  }
});

test("--workers beyond the connections of the embedded PostgreSQL is refused, and the message says how many fit", async () => {
  // A program that accepted the count would be refused this port, which is in use.
  const { port } = new URL(simulator.url);
  const env = { ...OPERATOR_ENV, REDIS_URL: "redis://127.0.0.1:1" };
  for (const [count, poolMax, most] of [
    ["3", "30", 2],
    ["6", "10", 5],
  ] as const) {
    const more = { ...env, TM_DATABASE_POOL_MAX: poolMax };
    const { code, stderr } = await runCommand([...serveArgs(count), "--port", port], more);
    expect(code).toBe(2);
    expect(stderr).toContain(`at most ${most} processes`);
    expect(stderr).toContain("DATABASE_URL");
  }
});

describe.skipIf(redisProgram === undefined)("two workers on one port", () => {
  const redis = withResource(() => startRedis());
  const database = withResource(freshDatabase, (opened) => opened.drop());
  const env = () => ({ DATABASE_URL: database.connectionString });
  const running = withResource(
    () => startProgram(serveArgs("2"), { ...OPERATOR_ENV, ...env(), REDIS_URL: redis.url }),
    (program) => program.end("SIGKILL"),
  );
  let key = "";
  beforeAll(async () => {
    ({ key } = await openAccountByCommands([], "5.00", env()));
  });

  function chat(text = "hello", stream = false): Promise<HttpAnswer> {
    const asked = { key, wire: "wire_a", model: "op/model", text, stream } as const;
    return ask(String(running.ready["gateway_url"]), asked);
  }

  /** Repeats a request after a 503, which no limit counts: a busy Redis may answer too late. */
  async function served(text?: string, stream?: boolean): Promise<HttpAnswer> {
    const answer = await chat(text, stream);
    if (answer.status === 503) return await served(text, stream);
    expect(answer.status).toBe(200);
    return answer;
  }

  function workerPids(): number[] {
    const lines = running.stderr().split("\n");
    const ready = lines.filter((line) => line.includes('"msg":"worker ready"'));
    return ready.map((line) => Number(at(JSON.parse(line), "pid")));
  }

  test("are both ready, have an internal address each, and share the limits", async () => {
    expect(new Set(workerPids()).size).toBe(2);
    const urls = running.ready["internal_urls"];
    expect(urls).toHaveLength(2);
    for (const url of urls as string[]) {
      expect((await fetch(`${url}/readyz`)).status).toBe(200);
    }
    await Promise.all(Array.from({ length: 8 }, () => served()));
    const after = await served();
    expect(Number(after.headers["x-tm-remaining-rpm"])).toBe(300 - 9);
  });

  test("restart a worker that was killed, and the port continues to answer", async () => {
    const [first] = workerPids();
    if (first === undefined) throw new Error("no worker");
    process.kill(first, "SIGKILL");
    await until("a third worker is ready", () => workerPids().length === 3);
    await until("it serves", async () => (await chat()).status === 200);
    expect(running.process.exitCode).toBeNull();
  });

  test("keep running when each gets a SIGHUP, as when a terminal closes", async () => {
    const pids = workerPids().slice(-2);
    for (const pid of pids) process.kill(pid, "SIGHUP");
    running.process.kill("SIGHUP");
    await until("the supervisor has passed the reload on", () => {
      const lines = running.stderr().split("settings and secrets were read again");
      return lines.length > 2;
    });
    expect(workerPids().slice(-2)).toEqual(pids);
    expect(running.stderr()).not.toContain('exit_code":1');
  });

  test("finish their streams after SIGTERM, and exit with 0", async () => {
    const before = simulator.counts().total;
    const stream = served("[words:9] [[fault:slow:40]]", true);
    await until("a stream runs", () => simulator.counts().total > before);
    expect(await running.end("SIGTERM")).toBe(0);
    expect((await stream).text).toMatch(/word9[^]*data: \[DONE\]\n\n$/);
    const { code, json } = await jsonCommand(["ledger", "audit"], env());
    expect({ code, json }).toMatchObject({ code: 0, json: { ok: true } });
  });
});
