import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

import { Pool } from "undici";
import { expect, test } from "vitest";

import { Deadlines } from "../kernel/core/deadlines.ts";
import { systemClock } from "../kernel/core/time.ts";
import { fetchJson, type RunningJsonFetch } from "./fetch-json.ts";

interface Limits {
  readonly totalMs?: number;
  readonly act?: (running: RunningJsonFetch, deadlines: Deadlines) => void;
}

/** What a question to a provider that behaves like this ends with. */
async function ask(provider: RequestListener, limits: Limits = {}): Promise<unknown> {
  const server = createServer(provider);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const pool = new Pool(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const deadlines = new Deadlines(systemClock);
  try {
    const running = fetchJson({
      clock: systemClock,
      deadlines,
      totalMs: limits.totalMs ?? 5_000,
      bytesMax: 1_000,
      send: (handler) => pool.dispatch({ path: "/", method: "POST", body: "{}" }, handler),
    });
    if (limits.act !== undefined) {
      await once(server, "request");
      limits.act(running, deadlines);
    }
    const json = await running.ended;
    expect(deadlines.size).toBe(0);
    return json;
  } finally {
    await pool.destroy();
    server.closeAllConnections();
    server.close();
  }
}

const silent: RequestListener = () => {};

test("a 2xx with JSON is that JSON, however it is cut", async () => {
  const json = await ask((_request, response) => {
    response.write('{"input_');
    setImmediate(() => response.end('tokens":7}'));
  });
  expect(json).toEqual({ input_tokens: 7 });
});

test.each<[string, RequestListener]>([
  ["an error status", (_request, response) => response.writeHead(500).end('{"input_tokens":7}')],
  ["a redirect", (_request, response) => response.writeHead(302, { location: "/x" }).end("{}")],
  ["no JSON", (_request, response) => response.end("<html>")],
  ["a body over the bound", (_request, response) => response.end(`"${"x".repeat(2_000)}"`)],
  ["compressed bytes", (_request, res) => res.writeHead(200, { "content-encoding": "gzip" }).end()],
  ["a broken connection", (request) => request.socket.destroy()],
])("%s is not an answer", async (_name, provider) => {
  expect(await ask(provider)).toBeUndefined();
});

test("a silent provider is waited for as long as the limit says", async () => {
  expect(await ask(silent, { totalMs: 20 })).toBeUndefined();
});

test("no caller waits any more when the client left or the program shuts down", async () => {
  expect(await ask(silent, { act: (running) => running.abandon() })).toBeUndefined();
  expect(await ask(silent, { act: (_running, deadlines) => deadlines.cutAll() })).toBeUndefined();
});

test("a transport that throws or refuses is not an answer", async () => {
  const input = { clock: systemClock, deadlines: new Deadlines(systemClock), bytesMax: 10 };
  const throwing = (): void => {
    throw new Error("no such header");
  };
  expect(await fetchJson({ ...input, totalMs: 1_000, send: throwing }).ended).toBeUndefined();
  const refusing = fetchJson({
    ...input,
    totalMs: 1_000,
    send: (handler) => handler.onRefused(new Error("private address")),
  });
  expect(await refusing.ended).toBeUndefined();
});
