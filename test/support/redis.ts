import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import { Redis } from "ioredis";
import { freePort } from "./free-port.ts";
import { startTethered, type Tethered } from "./tethered-program.ts";
import { withResource } from "./with-resource.ts";
import { orReport } from "./or-report.ts";
import { newFolder } from "./run-folder.ts";

const READY_WAIT_MS = 20_000;
const STARTS_MAX = 5;

/** The server program on PATH; if undefined, its tests are skipped, which the run reports. */
export const redisProgram: string | undefined = ["redis-server", "valkey-server"].find(
  (name) => spawnSync(name, ["--version"]).status === 0,
);

orReport(
  redisProgram !== undefined,
  "no redis-server or valkey-server on PATH: limits shared by processes were NOT tested",
);

export type TestRedis = Awaited<ReturnType<typeof startRedis>>;

/** Starts a real server on a loopback port, with its own folder; it stores nothing on disk. */
export async function startRedis(more: readonly string[] = []) {
  const folder = newFolder("redis");
  let server: Tethered | undefined;
  let port = 0;
  for (let tries = 0; server === undefined; tries += 1) {
    if (tries === STARTS_MAX) throw new Error("the Redis server does not start");
    port = await freePort();
    server = await started(port, folder, more);
  }
  const operator = new Redis({ port, retryStrategy: () => 50 });
  operator.on("error", () => undefined);
  const signal = (name: NodeJS.Signals): void => void process.kill(server?.pid ?? 0, name);
  const kill = async (): Promise<void> => {
    await server?.kill();
    server = undefined;
  };
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    pid: () => server?.pid,
    command: (name: string, ...args: (string | number)[]): Promise<unknown> =>
      operator.call(name, ...args),
    /** Stops the process with SIGSTOP: its connections stay, but nothing is answered. */
    pause: () => signal("SIGSTOP"),
    resume: () => signal("SIGCONT"),
    kill,
    /** Starts the server again after `kill`, empty, on the same port. */
    restart: async () => {
      server = await started(port, folder, more);
      if (server === undefined) throw new Error("the Redis server does not start again");
    },
    close: async () => {
      operator.disconnect();
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function withRedis(): TestRedis {
  return withResource(() => startRedis());
}

/** Starts a server. Returns undefined if it does not answer, as when its port was just taken. */
async function started(
  port: number,
  folder: string,
  more: readonly string[],
): Promise<Tethered | undefined> {
  if (redisProgram === undefined) throw new Error("no Redis server on PATH");
  const words = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", ""];
  const command = [redisProgram, ...words, "--appendonly", "no", ...more];
  const server = await startTethered(command);
  if (await answers(port)) return server;
  await server.kill();
  return undefined;
}

async function answers(port: number): Promise<boolean> {
  const probe = new Redis({ port, lazyConnect: true, retryStrategy: () => 20 });
  probe.on("error", () => undefined);
  const ready = new Promise<boolean>((resolve) => probe.once("ready", () => resolve(true)));
  probe.connect().catch(() => undefined);
  const isReady = await Promise.race([ready, sleep(READY_WAIT_MS, false, { ref: false })]);
  probe.disconnect();
  return isReady;
}
