import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { withStartLock } from "../../../src/kernel/storage/start-lock.ts";
import { ask, at, bodyOf, get, openAsk, type Ask } from "../../support/ask.ts";
import { until } from "../../support/books.ts";
import { withSimulator } from "../../support/gateway.ts";
import {
  jsonCommand,
  openAccountByCommands,
  OPERATOR_ENV,
  serve,
  withOperatorFolder,
} from "../../support/operator.ts";
import {
  endIfRunning,
  killPostmaster,
  postgresProcesses,
  postgresServers,
} from "../../support/postgres-processes.ts";
import { runProgram, type RunningProgram } from "../../support/program.ts";
import { expectUnavailable } from "../../support/unavailable.ts";

/** The grace time in milliseconds, and the time after it to close the stores on a busy machine. */
const GRACE_MS = 500;
const EXTRA_MS = 12_000;

const simulator = withSimulator();
const folder = withOperatorFolder(simulator);
let running: RunningProgram;
let orgId = "";
let key = "";

beforeAll(async () => {
  running = await serve(folder);
  ({ orgId, key } = await openAccountByCommands(["--data", folder.dataDir], "5.00"));
});

afterAll(() => running.end("SIGTERM"));

function urlOf(program: RunningProgram): string {
  return String(program.ready["gateway_url"]);
}

function asked(more: Partial<Ask> = {}): Ask {
  return { key, wire: "wire_a", model: "op/model", text: "hello", ...more };
}

async function books() {
  const { json } = await get(urlOf(running), { key, path: "/v1/usage?limit=100" });
  const rows = at(json, "data") as readonly unknown[];
  const debits = rows.map((row) => [at(row, "request_id"), at(row, "cost_micro_usd")] as const);
  return { heldMicroUsd: at(json, "balance", "held_micro_usd"), debits };
}

/** Starts a long stream. */
async function openStream(): Promise<{ readonly request: Ask; readonly requestId: string }> {
  const request = asked({ stream: true, text: "[words:50] [[fault:slow:1000]]" });
  let requestId = "";
  const sent = openAsk(urlOf(running), request);
  sent.on("error", () => undefined);
  sent.on("response", (response) => {
    requestId = String(response.headers["x-request-id"]);
    response.on("error", () => undefined);
    response.resume();
  });
  await until("the stream runs", () => requestId !== "");
  expect((await books()).heldMicroUsd).toBeGreaterThan(0);
  return { request, requestId };
}

async function expectChargedOnce(request: Ask, requestId: string): Promise<void> {
  // A micro-dollar per byte, and ten for each of the 64 output tokens.
  const reserve = Buffer.byteLength(bodyOf(request)) + 640;
  const { json } = await get(urlOf(running), { key, path: `/v1/generation?id=${requestId}` });
  const outcome = "unknown_after_crash";
  expect(at(json, "data")).toMatchObject({
    outcome,
    cost_micro_usd: reserve,
    reserved_micro_usd: reserve,
  });
  const attempt = { settlement: outcome, settled_cost_micro_usd: reserve, tokens: null };
  expect(at(json, "data", "attempts")).toEqual([expect.objectContaining({ outcome, ...attempt })]);
  const { heldMicroUsd, debits } = await books();
  expect(heldMicroUsd).toBe(0);
  expect(debits.filter(([ref]) => ref === requestId)).toEqual([[requestId, reserve]]);
}

test("a second server on the same data charges the hold of a killed server, and only once", async () => {
  const { request, requestId } = await openStream();
  const second = await serve(folder);
  expect(second.ready["gateway_url"]).not.toBe(urlOf(running));
  expect(await running.end("SIGKILL")).toBeNull();
  running = second;
  await until("the second has recovered it", async () => {
    const { debits, heldMicroUsd } = await books();
    return heldMicroUsd === 0 && debits.some(([ref]) => ref === requestId);
  });
  await expectChargedOnce(request, requestId);
});

test("ledger recover charges the hold of a killed server once, and the next server charges nothing", async () => {
  const { request, requestId } = await openStream();
  await running.end("SIGKILL");
  const recover = ["ledger", "recover", "--data", folder.dataDir];
  expect((await jsonCommand(recover)).json).toMatchObject({ recovered: 1 });
  expect((await jsonCommand(recover)).json).toMatchObject({ recovered: 0 });
  running = await serve(folder);
  await expectChargedOnce(request, requestId);
  await booksBalance();
});

test("SIGTERM in mid-stream lets the stream finish, exits with 0, and commands can read the data", async () => {
  const before = await books();
  const whole = ask(urlOf(running), asked({ stream: true, text: "[words:30] [[fault:slow:50]]" }));
  const already = simulator.counts().total;
  await until("the stream runs", () => simulator.counts().total > already);
  const ended = running.end("SIGTERM");
  await until("no new request is accepted", () =>
    get(urlOf(running), { key, path: "/readyz" }).then(
      (probe) => probe.status === 503,
      () => true,
    ),
  );
  const answer = await whole;
  expect(answer.text).toContain("word30");
  expect(answer.text.endsWith("data: [DONE]\n\n")).toBe(true);
  expect(await ended).toBe(0);
  // No server runs: the command starts the database for itself.
  const ledger = ["credit", "ledger", "--org", orgId, "--data", folder.dataDir, "--json"];
  const { code, stdout, stderr } = await runProgram(ledger, OPERATOR_ENV);
  expect({ code, lines: stdout.split("\n").length }).toEqual({ code: 0, lines: 2 });
  const down = JSON.parse(stdout) as Record<string, unknown>;
  expect(down).toMatchObject({ org_id: orgId, held_usd: "0.000000" });
  expect(down["entries"]).toHaveLength(before.debits.length + 2);
  expect(down["entries"]).toContainEqual(expect.objectContaining({ ref: answer.requestId }));
  const logs = stderr.trimEnd().split("\n");
  expect(logs.map((line) => at(JSON.parse(line), "msg"))).toContain("embedded PostgreSQL started");
});

/** The database's folder from the log; if run by root, it may be outside the data folder. */
function databaseFolder(): string {
  const lines = running.stderr().split("\n");
  const line = lines.find((one) => one.includes('"msg":"embedded PostgreSQL"'));
  return String(at(JSON.parse(line ?? "{}"), "data"));
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

describe("the embedded database", () => {
  let unseenKey = "";
  beforeAll(async () => {
    // The server may cache a key for 5 s, which is the longest time that it may be set to.
    running = await serve(folder, { TM_AUTH_KEY_CACHE_MS: "5000" });
    ({ key: unseenKey } = await openAccountByCommands(["--data", folder.dataDir], "5.00"));
  });

  test("after kill -9 of its database a server answers 503, and serves again without a restart", async () => {
    expect((await ask(urlOf(running), asked())).status).toBe(200);
    const before = simulator.counts().total;
    const stream = ask(
      urlOf(running),
      asked({ stream: true, text: "[words:9] [[fault:slow:40]]" }),
    );
    await until("a stream runs", () => simulator.counts().total > before);
    // While the test holds the lock, no process can restart the database.
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
    await until("nothing is held", async () => (await books()).heldMicroUsd === 0);
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
});

/** Removes the folder. False if the running server wrote a file while its folder was emptied. */
function isRemoved(path: string): boolean {
  try {
    rmSync(path, { recursive: true, force: true });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOTEMPTY") return false;
    throw error;
  }
}

test("SIGTERM ends a server whose data folder was deleted, and the log names the removed folder", async () => {
  const program = await serve(folder, { TM_SHUTDOWN_GRACE_MS: String(GRACE_MS) });
  const pidFile = join(folder.dataDir, "postgres", "cluster", "postmaster.pid");
  const postmaster = Number.parseInt(readFileSync(pidFile, "utf8"));
  onTestFinished(() => endIfRunning(postmaster, "SIGQUIT"));
  await until("the folder is removed", () => isRemoved(folder.dataDir));
  const beganMs = performance.now();
  expect(await program.end("SIGTERM")).toBe(0);
  expect(performance.now() - beganMs).toBeLessThan(GRACE_MS + EXTRA_MS);
  expect(program.stderr()).toContain("the folder of the database was removed");
  expect(program.stderr()).not.toContain("tokenmarket: ENOENT");
});
