import { afterAll, beforeAll, expect, test } from "vitest";

import { ask, at, bodyOf, get, openAsk, type Ask } from "../../support/ask.ts";
import { until } from "../../support/books.ts";
import {
  jsonCommand,
  openAccountByCommands,
  OPERATOR_ENV,
  serve,
  withOperatorFolder,
} from "../../support/operator.ts";
import { runProgram, type RunningProgram } from "../../support/program.ts";
import { withSimulator } from "../../support/gateway.ts";

const simulator = withSimulator();
const folder = withOperatorFolder(simulator);
let running: RunningProgram | undefined;
let orgId = "";
let key = "";

beforeAll(async () => {
  running = await serve(folder);
  ({ orgId, key } = await openAccountByCommands(["--data", folder.dataDir], "5.00"));
});

afterAll(() => running?.end("SIGTERM"));

function gatewayUrl(): string {
  return String(running?.ready["gateway_url"]);
}

function asked(more: Partial<Ask> = {}): Ask {
  return { key, wire: "wire_a", model: "op/model", text: "hello", ...more };
}

interface Books {
  readonly heldMicroUsd: unknown;
  readonly debits: readonly { readonly ref: unknown; readonly microUsd: unknown }[];
}

async function books(): Promise<Books> {
  const { json } = await get(gatewayUrl(), { key, path: "/v1/usage?limit=100" });
  const rows = at(json, "data") as readonly unknown[];
  return {
    heldMicroUsd: at(json, "balance", "held_micro_usd"),
    debits: rows.map((row) => ({
      ref: at(row, "request_id"),
      microUsd: at(row, "cost_micro_usd"),
    })),
  };
}

/** A long stream that has started. */
async function openStream(): Promise<{ readonly request: Ask; readonly requestId: string }> {
  const request = asked({ stream: true, text: "[words:50] [[fault:slow:1000]]" });
  let requestId = "";
  const sent = openAsk(gatewayUrl(), request);
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

/** A micro-dollar a byte, ten for each of the 64 output tokens. */
function reserveOf(request: Ask): bigint {
  return BigInt(Buffer.byteLength(bodyOf(request))) + 640n;
}

async function expectChargedOnce(requestId: string, reserve: bigint): Promise<void> {
  const path = `/v1/generation?id=${requestId}`;
  const { json } = await get(gatewayUrl(), { key, path });
  expect(at(json, "data")).toMatchObject({
    outcome: "unknown_after_crash",
    cost_micro_usd: Number(reserve),
    reserved_micro_usd: Number(reserve),
  });
  expect(at(json, "data", "attempts")).toEqual([
    expect.objectContaining({
      outcome: "unknown_after_crash",
      settlement: "unknown_after_crash",
      settled_cost_micro_usd: Number(reserve),
      tokens: null,
    }),
  ]);
  const { heldMicroUsd, debits } = await books();
  expect(heldMicroUsd).toBe(0);
  const microUsd = Number(reserve);
  expect(debits.filter((entry) => entry.ref === requestId)).toEqual([{ ref: requestId, microUsd }]);
}

test("a second server on the same data charges the reserve that a killed one left, once", async () => {
  const { request, requestId } = await openStream();
  const second = await serve(folder);
  expect(second.ready["gateway_url"]).not.toBe(gatewayUrl());
  expect(await running?.end("SIGKILL")).toBeNull();
  running = second;
  await until("the second has recovered it", async () => {
    const { debits, heldMicroUsd } = await books();
    return heldMicroUsd === 0 && debits.some((entry) => entry.ref === requestId);
  });
  await expectChargedOnce(requestId, reserveOf(request));
});

test("ledger recover charges it once while no server runs, and the next server nothing", async () => {
  const { request, requestId } = await openStream();
  await running?.end("SIGKILL");
  const recover = ["ledger", "recover", "--data", folder.dataDir];
  expect((await jsonCommand(recover)).json).toMatchObject({ recovered: 1 });
  expect((await jsonCommand(recover)).json).toMatchObject({ recovered: 0 });
  running = await serve(folder);
  await expectChargedOnce(requestId, reserveOf(request));
  expect((await ask(gatewayUrl(), asked())).status).toBe(200);
  const audit = await jsonCommand(["ledger", "audit", "--data", folder.dataDir]);
  expect(audit).toMatchObject({ code: 0, json: { ok: true } });
});

test("SIGTERM in mid-stream: the stream ends whole, exit code 0, and commands read the data", async () => {
  const before = await books();
  const whole = ask(gatewayUrl(), asked({ stream: true, text: "[words:30] [[fault:slow:50]]" }));
  const already = simulator.counts().total;
  await until("the stream runs", () => simulator.counts().total > already);
  const ended = running?.end("SIGTERM");
  await until("no new request is accepted", () =>
    get(gatewayUrl(), { key, path: "/readyz" }).then(
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
