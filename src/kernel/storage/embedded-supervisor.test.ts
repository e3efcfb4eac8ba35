import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import {
  killPostmaster,
  postgresProcesses,
  postgresServers,
  postmasterPid,
} from "../../../test/support/postgres-processes.ts";
import { silentLog } from "../../../test/support/silent-log.ts";
import {
  type EmbeddedPostgres,
  ServerSupervisor,
  startEmbeddedPostgres,
} from "./embedded-server.ts";
import { withStartLock } from "./start-lock.ts";

const POLL = { timeout: 30_000, interval: 25 };
let root: string;
const said: string[] = [];
const recorder = {
  info: (_detail: object, message: string) => void said.push(message),
  warn: (_detail: object, message: string) => void said.push(message),
  error: (detail: object, message: string) =>
    void said.push(`${message}: ${String((detail as { err?: unknown }).err)}`),
};

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "tokenmarket-kept-"));
  chmodSync(root, 0o755);
});
afterEach(() => void said.splice(0));
afterAll(() => {
  // A failed test may have left a server.
  for (const pid of postgresServers(join(root, "postgres"))) process.kill(pid, "SIGKILL");
  rmSync(root, { recursive: true, force: true });
});

/** All tests share one folder, one after the other, since creating a database takes longest. */
function startKeptUp(): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ dataDir: root, log: recorder, isKeptUp: true });
}

async function ask(server: { connectionString: string }, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: server.connectionString });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Waits until another server process than `before` answers. */
async function expectBack(server: EmbeddedPostgres, before: number): Promise<void> {
  const answering = async (): Promise<number | undefined> => {
    const pid = postmasterPid(server.dataDir);
    await ask(server, "select 1");
    return pid;
  };
  await expect
    .poll(async () => answering().catch(() => undefined), POLL)
    .toSatisfy((pid: number | undefined) => pid !== undefined && pid !== before);
}

describe("a supervised server", () => {
  test("comes back at its address with its data after each kill -9", async () => {
    const server = await startKeptUp();
    await ask(server, "create table kept as select 42 as answer");
    for (let kills = 0; kills < 2; kills++) {
      await expectBack(server, killPostmaster(server.dataDir));
      expect(await ask(server, "select answer from kept")).toEqual([{ answer: 42 }]);
    }
    expect(said).toContain("the embedded PostgreSQL has ended; it is restarted");
    // The server answers a moment before the line is logged.
    await expect.poll(() => said, POLL).toContain("the embedded PostgreSQL is available again");
    await server.stop();
    expect(postgresProcesses(server.dataDir)).toEqual([]);
  });

  test.each(["SIGINT", "SIGTERM"] as const)(
    "comes back after a %s from outside, even with an open session",
    async (signal) => {
      const server = await startKeptUp();
      const session = new Client({ connectionString: server.connectionString });
      session.on("error", () => undefined);
      await session.connect();
      await expectBack(server, killPostmaster(server.dataDir, signal));
      await session.end();
      await server.stop();
    },
  );

  test("waits for the sessions that a killed server left at work", async () => {
    const server = await startKeptUp();
    const session = new Client({ connectionString: server.connectionString });
    session.on("error", () => undefined);
    await session.connect();
    // The session is busy without a wait, so it does not notice that its server is gone.
    const work = session.query(busySql).catch(() => undefined);
    await expect.poll(() => isBusy(server), POLL).toBe(true);
    await expectBack(server, killPostmaster(server.dataDir));
    expect(postgresServers(server.dataDir)).toEqual([postmasterPid(server.dataDir)]);
    const log = readFileSync(join(server.dataDir, "postgres.log"), "utf8");
    expect(log).toContain("pre-existing shared memory block");
    expect(said.join("\n")).not.toContain("could not be started");
    await work;
    await session.end().catch(() => undefined);
    await server.stop();
  });

  test("is started by one of two programs and shared by the other", async () => {
    const server = await startKeptUp();
    const elsewhere = await startElsewhere();
    for (let kills = 0; kills < 3; kills++) {
      await expectBack(server, killPostmaster(server.dataDir));
      expect(postgresServers(server.dataDir)).toEqual([postmasterPid(server.dataDir)]);
    }
    // The remaining process keeps the server running alone.
    await elsewhere.end();
    await expectBack(server, killPostmaster(server.dataDir));
    await server.stop();
    expect(postgresProcesses(server.dataDir)).toEqual([]);
  });

  test("waits for its port if another program uses it, and logs that", async () => {
    const server = await startKeptUp();
    const port = Number(new URL(server.connectionString).port);
    const robber = createServer();
    // While this lock is held, no process starts the server.
    await withStartLock(server.dataDir, async () => {
      killPostmaster(server.dataDir);
      await expect.poll(() => postgresProcesses(server.dataDir), POLL).toEqual([]);
      robber.listen(port, "127.0.0.1");
      await once(robber, "listening");
    });
    await expect.poll(() => said.join("\n"), POLL).toContain(`port ${port} of the embedded`);
    robber.close();
    await expect.poll(() => said, POLL).toContain("the embedded PostgreSQL is available again");
    expect(await ask(server, "select 1 as one")).toEqual([{ one: 1 }]);
    await server.stop();
  });

  test("is never replaced by an empty one", async () => {
    const server = await startKeptUp();
    const cluster = join(server.dataDir, "cluster");
    await withStartLock(server.dataDir, async () => {
      killPostmaster(server.dataDir);
      await expect.poll(() => postgresProcesses(server.dataDir), POLL).toEqual([]);
      renameSync(cluster, `${cluster}-aside`);
    });
    const refusal = `could not be started: Error: the database in ${server.dataDir} was removed`;
    await expect.poll(() => said.join("\n"), POLL).toContain(refusal);
    renameSync(`${cluster}-aside`, cluster);
    await expect.poll(() => ask(server, "select 1 as one").catch(() => 0), POLL).toHaveLength(1);
    await server.stop();
  });
});

describe("a deliberate stop", () => {
  test("during an outage leaves no process, whenever it comes", async () => {
    const moments = ["", "has ended", "is available again"]; // the first: at once
    for (const words of moments) {
      const server = await startKeptUp();
      killPostmaster(server.dataDir);
      await expect.poll(() => said.join("\n"), POLL).toContain(words);
      await server.stop();
      // The sessions of the killed server need a moment more.
      await expect.poll(() => postgresProcesses(server.dataDir), POLL).toEqual([]);
      said.splice(0);
    }
  });

  test("of one program leaves the other its server, and that of the last one is final", async () => {
    const first = await startKeptUp();
    const second = await startKeptUp();
    await first.stop();
    expect(await ask(second, "select 1 as one")).toEqual([{ one: 1 }]);
    await second.stop();
    await sleep(1_000); // longer than any monitor's pause
    expect(postgresProcesses(second.dataDir)).toEqual([]);
    expect(said.join("\n")).not.toContain("has ended");
  });
});

test("a supervisor retries a start with growing pauses until it is stopped", async () => {
  vi.useFakeTimers();
  const pauses: unknown[] = [];
  const supervisor = new ServerSupervisor({
    isUp: () => false,
    bringBack: () => Promise.reject(new Error("no space")),
    log: { ...silentLog, error: (detail) => void pauses.push(detail) },
    detail: {},
  });
  await vi.advanceTimersByTimeAsync(60_000);
  const pausesMs = pauses.map((each) => (each as { retryMs: number }).retryMs);
  expect(pausesMs.slice(0, 8)).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
  await supervisor.stop();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(pauses).toHaveLength(pausesMs.length);
  vi.useRealTimers();
});

const busySql = `do $$ begin
  while clock_timestamp() < statement_timestamp() + interval '1500 ms' loop end loop;
end $$`;

async function isBusy(server: EmbeddedPostgres): Promise<boolean> {
  const sql = "select from pg_stat_activity where state = 'active' and query like 'do %'";
  return (await ask(server, sql)).length > 0;
}

/** Starts the program again as a separate process. */
async function startElsewhere(): Promise<{ end(): Promise<void> }> {
  const script = new URL("../../../test/support/embedded-child.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, ["--import", "tsx", script, root, "kept-up"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await once(createInterface(child.stdout), "line");
  return {
    end: async () => {
      child.stdin.end();
      await once(child, "exit");
    },
  };
}
