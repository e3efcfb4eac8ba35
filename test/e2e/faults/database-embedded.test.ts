import { afterAll, beforeAll, expect, test } from "vitest";

import { withStartLock } from "../../../src/kernel/storage/start-lock.ts";
import { ask, at, get, type Ask } from "../../support/ask.ts";
import { until } from "../../support/books.ts";
import { withSimulator } from "../../support/gateway.ts";
import {
  jsonCommand,
  openAccountByCommands,
  serve,
  withOperatorFolder,
} from "../../support/operator.ts";
import {
  killPostmaster,
  postgresProcesses,
  postgresServers,
} from "../../support/postgres-processes.ts";
import type { RunningProgram } from "../../support/program.ts";
import { expectUnavailable } from "../../support/unavailable.ts";

const simulator = withSimulator();
const folder = withOperatorFolder(simulator);
let running: RunningProgram;
let key = "";
let unseenKey = "";

beforeAll(async () => {
  // A key that was read once is known for as long as a server may remember it.
  running = await serve(folder, { TM_AUTH_KEY_CACHE_MS: "5000" });
  const place = ["--data", folder.dataDir];
  [{ key }, { key: unseenKey }] = await Promise.all([
    openAccountByCommands(place, "5.00"),
    openAccountByCommands(place, "5.00"),
  ]);
});

afterAll(async () => {
  if (running.process.exitCode === null) await running.end("SIGTERM");
});

/** The database's folder from the log; run by root it may be outside the data folder. */
function databaseFolder(): string {
  const lines = running.stderr().split("\n");
  const line = lines.find((one) => one.includes('"msg":"embedded PostgreSQL"'));
  return String(at(JSON.parse(line ?? "{}"), "data"));
}

function asked(more: Partial<Ask> = {}): Ask {
  return { key, wire: "wire_a", model: "op/model", text: "hello", ...more };
}

function urlOf(program: RunningProgram): string {
  return String(program.ready["gateway_url"]);
}

async function servesAgain(program: RunningProgram): Promise<void> {
  await until("it serves again", async () => {
    const answer = await ask(urlOf(program), asked());
    if (answer.status !== 200) expectUnavailable(answer);
    return answer.status === 200;
  });
}

async function booksBalance(): Promise<void> {
  const { code, json } = await jsonCommand(["ledger", "audit", "--data", folder.dataDir]);
  expect({ code, json }).toMatchObject({ code: 0, json: { ok: true } });
}

async function heldMicroUsd(): Promise<unknown> {
  const { json } = await get(urlOf(running), { key, path: "/v1/usage" });
  return at(json, "balance", "held_micro_usd");
}

test("after kill -9 of its database a server answers 503, and serves again without a restart", async () => {
  expect((await ask(urlOf(running), asked())).status).toBe(200);
  const before = simulator.counts().total;
  const stream = ask(urlOf(running), asked({ stream: true, text: "[words:9] [[fault:slow:40]]" }));
  await until("a stream runs", () => simulator.counts().total > before);
  // While the lock is held, no process restarts the database.
  await withStartLock(databaseFolder(), async () => {
    killPostmaster(databaseFolder());
    await until("its processes are gone", () => postgresProcesses(databaseFolder()).length === 0);
    for (const wire of ["wire_a", "wire_b"] as const) {
      expectUnavailable(await ask(urlOf(running), asked({ wire })));
      expectUnavailable(await ask(urlOf(running), asked({ wire, key: unseenKey })));
    }
    expect(simulator.counts().total).toBe(before + 1);
  });
  await servesAgain(running);
  expect((await stream).text).toMatch(/word9[^]*data: \[DONE\]\n\n$/);
  await until("nothing is held", async () => (await heldMicroUsd()) === 0);
  expect((await ask(urlOf(running), asked({ key: unseenKey }))).status).toBe(200);
  expect(running.process.exitCode).toBeNull();
  const said = "the embedded PostgreSQL is available again";
  await until("the log says so", () => running.stderr().includes(said));
  await booksBalance();
});

test("one of two servers on a folder restarts a killed database, and both serve again", async () => {
  const second = await serve(folder);
  for (const signal of ["SIGKILL", "SIGTERM", "SIGINT"] as const) {
    const killed = killPostmaster(databaseFolder(), signal);
    await until("another one runs", () => !postgresServers(databaseFolder()).includes(killed));
    await Promise.all([servesAgain(running), servesAgain(second)]);
    expect(postgresServers(databaseFolder())).toHaveLength(1);
  }
  expect(await second.end("SIGTERM")).toBe(0);
  expect(postgresServers(databaseFolder())).toHaveLength(1);
  await servesAgain(running);
});

test("SIGTERM ends a server whose database was just killed with exit 0, and leaves no process", async () => {
  const data = databaseFolder();
  killPostmaster(data);
  expect(await running.end("SIGTERM")).toBe(0);
  await until("no process is left", () => postgresProcesses(data).length === 0);
  await booksBalance();
});
