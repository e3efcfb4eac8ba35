import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { Redis } from "ioredis";

import { until } from "./books.ts";
import { freePort } from "./free-port.ts";
import { newFolder } from "./run-folder.ts";
import { redisProgram, startRedis } from "./redis.ts";
import { startTethered, type Tethered } from "./tethered-program.ts";

export const MASTER = "tm-test";
const SENTINELS = 3;
const DOWN_AFTER_MS = 1_000;

/** Starts a Redis master, its replica, and three sentinels that can promote the replica. */
export async function startSentinels() {
  const leader = await startRedis();
  const follower = await startRedis(["--replicaof", "127.0.0.1", String(leader.port)]);
  const servers = [leader, follower];
  const folder = newFolder("sentinels");
  const ports: number[] = [];
  const programs: Tethered[] = [];
  for (let n = 0; n < SENTINELS; n += 1) {
    const port = await freePort();
    const file = join(folder, `${n}.conf`);
    writeFileSync(file, configOf(port, leader.port, folder));
    programs.push(await startTethered([redisProgram ?? "", file, "--sentinel"]));
    ports.push(port);
  }
  const operator = new Redis({ port: ports[0] ?? 0, retryStrategy: () => 50 });
  operator.on("error", () => undefined);
  const ask = (what: string): Promise<unknown> => operator.call("sentinel", what, MASTER);
  return {
    url: ports.map((port) => `redis://127.0.0.1:${port}`).join(","),
    master: async () => {
      const [, port] = (await ask("get-master-addr-by-name")) as string[];
      const found = servers.find((each) => String(each.port) === port);
      if (found === undefined) throw new Error("the sentinels name a server that is none");
      return found;
    },
    /** Resolves when the sentinels see each other, a master, and a replica that follows it. */
    whole: async () => {
      await until("every sentinel sees the others, and a replica that follows", async () => {
        const master = (await ask("master")) as string[];
        const [replica = []] = (await ask("replicas")) as string[][];
        return (
          valueOf(master, "num-other-sentinels") === String(SENTINELS - 1) &&
          valueOf(master, "flags") === "master" &&
          valueOf(replica, "flags") === "slave" &&
          valueOf(replica, "master-link-status") === "ok"
        );
      });
    },
    close: async () => {
      operator.disconnect();
      await Promise.all(programs.map((program) => program.kill()));
      for (const server of servers) server.resume();
      await Promise.all(servers.map((server) => server.close()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function valueOf(pairs: readonly string[], name: string): string | undefined {
  return pairs[pairs.indexOf(name) + 1];
}

function configOf(port: number, leaderPort: number, folder: string): string {
  return `port ${port}
bind 127.0.0.1
dir ${folder}
sentinel monitor ${MASTER} 127.0.0.1 ${leaderPort} 2
sentinel down-after-milliseconds ${MASTER} ${DOWN_AFTER_MS}
sentinel failover-timeout ${MASTER} 5000
sentinel parallel-syncs ${MASTER} 1
`;
}
