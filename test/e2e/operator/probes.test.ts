import { afterAll, describe, expect, test } from "vitest";

import { ask } from "../../support/ask.ts";
import { until } from "../../support/books.ts";
import { chatBody } from "../../support/chat-bodies.ts";
import { MovableClock } from "../../support/clocks.ts";
import { startTestGateway, withAccount, withGateway } from "../../support/gateway.ts";
import { bearer, httpCall } from "../../support/http-call.ts";
import { withDatabase } from "../../support/postgres.ts";
import { runCommand } from "../../support/program.ts";
import { urlThrough, withProxyTo } from "../../support/tcp-proxy.ts";
import { expectUnavailable } from "../../support/unavailable.ts";

const LEASE_MS = 10_000;

describe("an unreachable database", () => {
  const database = withDatabase();
  const proxy = withProxyTo(database);
  const clock = new MovableClock();
  const gateway = withGateway(() => ({
    settings: { databaseUrl: urlThrough(proxy, database).href },
    // A key that was read once stays cached, however long the database is unavailable.
    keyCacheMs: 3_600_000,
    clock,
  }));
  const account = withAccount(gateway, "10");
  afterAll(() => proxy.set("up"));

  test("leaves an instance ready, and requests get a 503 with retry-after", async () => {
    const asked = { key: account.key, wire: "wire_a", model: "test/a", text: "hi" } as const;
    expect((await ask(gateway.url, asked)).status).toBe(200);
    proxy.set("down");
    clock.moveOn(LEASE_MS);
    expectUnavailable(await ask(gateway.url, asked));
    for (const url of [gateway.url, gateway.running.internalUrl]) {
      expect(await httpCall(`${url}/readyz`)).toMatchObject({ status: 200, text: "ok\n" });
    }
    proxy.set("up");
    const statusOf = async () => (await ask(gateway.url, asked)).status;
    await until("the gateway serves again", async () => (await statusOf()) === 200);
  });
});

test("an instance reports its state on the internal port; a draining one is live, not ready, and serves", async () => {
  const clock = new MovableClock();
  const shutdownDelayMs = 60_000;
  const gateway = await startTestGateway({ clock, settings: { shutdownDelayMs } });
  const { internalUrl } = gateway.running;
  const { port } = new URL(internalUrl);
  for (const url of [gateway.url, internalUrl]) {
    for (const path of ["/livez", "/healthz", "/readyz"]) {
      expect(await httpCall(url + path)).toMatchObject({ status: 200, text: "ok\n" });
      expect(await httpCall(url + path, { method: "HEAD" })).toMatchObject({ status: 200 });
    }
  }
  const verbose = await httpCall(`${internalUrl}/readyz?verbose`);
  expect(verbose.status).toBe(200);
  const passed = [
    "listening",
    "catalog",
    "joined",
    "not_draining",
    "not_fenced",
    "books_are_whole",
  ];
  const checks = Object.fromEntries(passed.map((check) => [check, true]));
  expect(verbose.json).toEqual({ ready: true, state: "serving", waiting_settings: [], checks });
  expect(await httpCall(`${gateway.url}/readyz?verbose`)).toMatchObject({ text: "ok\n" });
  const { text: metrics } = await httpCall(`${internalUrl}/metrics`);
  expect(metrics).toContain('tm_instance_state{state="serving"} 1');
  expect(metrics).toContain('tm_instance_state{state="draining"} 0');
  for (const args of [["probe"], ["probe", "--ready"]]) {
    const result = await runCommand([...args, "--internal-port", port, "--json"]);
    expect(result).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(result.stdout)).toMatchObject({ ok: true, status: 200 });
  }

  const account = await gateway.account("10");
  const asked = { key: account.key, wire: "wire_a", model: "test/a", stream: true } as const;
  const running = ask(gateway.url, { ...asked, text: "[words:3] [[fault:hold]]" });
  await until("the stream runs", () => gateway.simulator.counts().open === 1);
  const closed = gateway.close();
  for (const url of [gateway.url, internalUrl]) {
    const probe = await httpCall(`${url}/readyz`);
    expect(probe).toMatchObject({ status: 503, headers: { connection: "close" } });
    expect((await httpCall(`${url}/livez`)).status).toBe(200);
  }
  expect((await httpCall(`${internalUrl}/readyz?verbose`)).json).toMatchObject({
    ready: false,
    state: "draining",
    checks: { not_draining: false },
  });
  const unready = await runCommand(["probe", "--ready", "--internal-port", port]);
  expect(unready).toMatchObject({ code: 1 });
  expect(await runCommand(["probe", "--internal-port", port])).toMatchObject({ code: 0 });
  const { text } = await httpCall(`${internalUrl}/metrics`);
  expect(text).toContain('tm_instance_state{state="draining"} 1');
  const served = await httpCall(`${gateway.url}/v1/chat/completions`, {
    headers: bearer(account.key),
    body: chatBody("test/a"),
  });
  expect(served).toMatchObject({ status: 200, headers: { connection: "close" } });
  const console = await httpCall(`${gateway.running.consoleUrl}/api/models.json`);
  expect(console).toMatchObject({ status: 200, headers: { connection: "close" } });
  gateway.simulator.release();
  expect((await running).text).toContain("data: [DONE]");
  clock.moveOn(shutdownDelayMs);
  await closed;
  expect(await runCommand(["probe", "--internal-port", port])).toMatchObject({ code: 1 });
});
