import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import {
  endIfRunning,
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

const AVAILABLE = "the embedded PostgreSQL is available again";
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
  // A failed test may have left a server running.
  for (const pid of postgresServers(join(root, "postgres"))) endIfRunning(pid, "SIGKILL");
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

/** Waits until another server process than `before` answers, and the supervisor has said so. */
async function expectBack(server: EmbeddedPostgres, before: number): Promise<void> {
  const answering = async (): Promise<number | undefined> => {
    const pid = postmasterPid(server.dataDir);
    await ask(server, "select 1");
    return pid;
  };
  await expect
    .poll(async () => answering().catch(() => undefined), POLL)
    .toSatisfy((pid: number | undefined) => pid !== undefined && pid !== before);
  await expect.poll(() => said, POLL).toContain(AVAILABLE);
}

describe("a supervised server", () => {
  let server: EmbeddedPostgres;
  beforeAll(async () => {
    server = await startKeptUp();
  });
  afterAll(() => server.stop());

  async function openSession(): Promise<Client> {
    const session = new Client({ connectionString: server.connectionString });
    session.on("error", () => undefined);
    await session.connect();
    return session;
  }

  test("comes back after a SIGTERM from outside, even with an open session", async () => {
    const session = await openSession();
    await expectBack(server, killPostmaster(server.dataDir, "SIGTERM"));
    await session.end();
  });

  test("that was killed restarts only after its busy sessions have ended", async () => {
    const session = await openSession();
    // The session runs a loop that never waits, so it does not notice that its server is gone.
    const { rows } = await session.query<{ pid: number }>("select pg_backend_pid() as pid");
    const work = session.query(busySql).catch(() => undefined);
    await expect.poll(() => isBusy(server), POLL).toBe(true);
    const before = killPostmaster(server.dataDir);
    const readLog = () => readFileSync(join(server.dataDir, "postgres.log"), "utf8");
    await expect.poll(readLog, POLL).toContain("pre-existing shared memory block");
    for (const { pid } of rows) process.kill(pid, "SIGTERM");
    await expectBack(server, before);
    expect(postgresServers(server.dataDir)).toEqual([postmasterPid(server.dataDir)]);
    expect(said.join("\n")).not.toContain("could not be started");
    await work;
    await session.end().catch(() => undefined);
  });

  test("waits for its port if another program uses it, and logs that", async () => {
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
    await expect.poll(() => said, POLL).toContain(AVAILABLE);
    expect(await ask(server, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  test("is not replaced by an empty database when its files are missing", async () => {
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
  });
});

test("a deliberate stop during an outage leaves no process, whenever it comes", async () => {
  const moments = ["", "has ended", "is available again"]; // The first one stops it at once.
  for (const words of moments) {
    const server = await startKeptUp();
    killPostmaster(server.dataDir);
    await expect.poll(() => said.join("\n"), POLL).toContain(words);
    await server.stop();
    // The sessions of the killed server end a moment later than the server.
    await expect.poll(() => postgresProcesses(server.dataDir), POLL).toEqual([]);
    said.splice(0);
  }
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
  while clock_timestamp() < statement_timestamp() + interval '60 s' loop end loop;
end $$`;

async function isBusy(server: EmbeddedPostgres): Promise<boolean> {
  const sql = "select from pg_stat_activity where state = 'active' and query like 'do %'";
  return (await ask(server, sql)).length > 0;
}
