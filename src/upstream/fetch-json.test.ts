import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";

import { Pool } from "undici";
import { describe, expect, onTestFinished, test } from "vitest";

import { listenLocally } from "../../test/support/local-server.ts";
import { nameServer } from "../../test/support/name-server.ts";
import { selfSigned } from "../../test/support/self-signed.ts";
import { Deadlines, systemClock } from "../kernel/core/time.ts";
import { type FindAddresses, ForeignNames } from "./address-guard.ts";
import { fetchJson, type PostEnd, postOnce, type RunningJsonFetch } from "./fetch-json.ts";

interface Limits {
  readonly totalMs?: number;
  readonly act?: (running: RunningJsonFetch, deadlines: Deadlines) => void;
}

/** Sends one request to a server that runs `provider`, and resolves with the JSON that came. */
async function ask(provider: RequestListener, limits: Limits = {}): Promise<unknown> {
  const server = createServer(provider);
  const { url, close } = await listenLocally(server);
  const pool = new Pool(url);
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
    await close();
  }
}

const silent: RequestListener = () => {};

test("a 2xx answer gives its JSON, however its bytes are split", async () => {
  const json = await ask((_request, response) => {
    response.write('{"input_');
    setImmediate(() => response.end('tokens":7}'));
  });
  expect(json).toEqual({ input_tokens: 7 });
});

test("a 2xx answer that says it is not compressed is read, in whatever case it says so", async () => {
  const json = await ask((_request, response) =>
    response.writeHead(200, { "content-encoding": "Identity" }).end('{"input_tokens":7}'),
  );
  expect(json).toEqual({ input_tokens: 7 });
});

test.each<[string, RequestListener]>([
  ["an error status", (_request, response) => response.writeHead(500).end('{"input_tokens":7}')],
  ["a redirect", (_request, response) => response.writeHead(302, { location: "/x" }).end("{}")],
  ["an HTML page", (_request, response) => response.end("<html>")],
  ["a body over the bound", (_request, response) => response.end(`"${"x".repeat(2_000)}"`)],
  ["compressed bytes", (_request, res) => res.writeHead(200, { "content-encoding": "gzip" }).end()],
  ["a broken connection", (request) => request.socket.destroy()],
])("%s is not an answer", async (_name, provider) => {
  expect(await ask(provider)).toBeUndefined();
});

test("a silent provider is waited for as long as the limit says", async () => {
  expect(await ask(silent, { totalMs: 20 })).toBeUndefined();
});

test("a fetch ends when the client leaves or the program shuts down", async () => {
  expect(await ask(silent, { act: (running) => running.abandon() })).toBeUndefined();
  expect(await ask(silent, { act: (_running, deadlines) => deadlines.cutAll() })).toBeUndefined();
});

/** Starts a server. Resolves with its port and a counter of the connections to it. */
async function listen(
  answer: RequestListener,
): Promise<{ port: number; connections: () => number }> {
  const server = createServer(answer);
  let connections = 0;
  server.on("connection", () => {
    connections += 1;
  });
  const { port, close } = await listenLocally(server);
  onTestFinished(close);
  return { port, connections: () => connections };
}

async function post(
  url: string,
  allowPrivate = true,
  find: FindAddresses = new ForeignNames().of("org_1"),
  timeoutMs = 2_000,
): Promise<PostEnd> {
  const headers = { "content-type": "application/json" };
  return await postOnce({ url: new URL(url), headers, body: "{}", timeoutMs, allowPrivate, find });
}

const PRIVATE = { kind: "unanswered", fault: "not sent: the address is private" };

describe("a private address is refused without a connection", () => {
  test.each([["localhost"], ["hooks.example"]])("%s", async (host) => {
    const { port, connections } = await listen((_, response) => response.end());
    const url = `http://${host}:${port}/`;
    const { address } = await nameServer("127.0.0.1");
    const find = new ForeignNames([address]).of("org_1");
    expect(await post(url, false, find)).toEqual(PRIVATE);
    expect(connections()).toBe(0);
    // The same server answers if private addresses are allowed.
    expect(await post(url, true, find)).toEqual({ kind: "answered", status: 200 });
  });

  test("[::ffff:127.0.0.1]", async () => {
    expect(await post("http://[::ffff:127.0.0.1]:9/", false)).toEqual(PRIVATE);
  });
});

test("a transport that throws or refuses is not an answer", async () => {
  const input = { clock: systemClock, deadlines: new Deadlines(systemClock), bytesMax: 10 };
  const throwing = (): void => {
    throw new Error("no such header");
  };
  expect(await fetchJson({ ...input, totalMs: 1_000, send: throwing }).ended).toBeUndefined();
  const refusing: Parameters<typeof fetchJson>[0]["send"] = (handler) =>
    handler.onRefused(new Error("private address"));
  expect(await fetchJson({ ...input, totalMs: 1_000, send: refusing }).ended).toBeUndefined();
});

test("a redirect is not followed", async () => {
  const target = await listen((_, response) => response.end());
  const { port } = await listen((_, response) => {
    response.writeHead(307, { location: `http://127.0.0.1:${target.port}/` }).end();
  });
  expect(await post(`http://127.0.0.1:${port}/`)).toEqual({ kind: "answered", status: 307 });
  expect(target.connections()).toBe(0);
});

describe("an answer is not waited for longer than its time", () => {
  test("if it never begins", async () => {
    const { port } = await listen(() => undefined);
    const url = `http://127.0.0.1:${port}/`;
    const fault = "no answer within 0.1 seconds";
    expect(await post(url, true, undefined, 100)).toEqual({ kind: "unanswered", fault });
  });

  test("if its body never ends: the status counts, and the connection is closed", async () => {
    let sent = 0;
    const { port } = await listen((_, response) => {
      response.writeHead(200);
      const timer = setInterval(() => {
        sent += 1;
        response.write("more ");
      }, 20);
      response.on("close", () => clearInterval(timer));
    });
    const startMs = performance.now();
    const end = await post(`http://127.0.0.1:${port}/`, true, undefined, 2_000);
    expect(end).toEqual({ kind: "answered", status: 200 });
    expect(performance.now() - startMs).toBeLessThan(10_000);
    const before = sent;
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(sent - before).toBeLessThan(3);
  });

  test("if its body is endless and fast: less than 20 MB of it is taken", async () => {
    let written = 0;
    const { port } = await listen((_, response) => {
      response.writeHead(200);
      const chunk = Buffer.alloc(65_536);
      const more = (): void => {
        while (!response.destroyed && written < 500_000_000) {
          written += chunk.length;
          if (!response.write(chunk)) return void response.once("drain", more);
        }
      };
      more();
    });
    expect(await post(`http://127.0.0.1:${port}/`)).toEqual({ kind: "answered", status: 200 });
    expect(written).toBeLessThan(20_000_000);
  });
});

test("a certificate of no known authority is not accepted", async () => {
  let asked = 0;
  const server = createSecureServer(selfSigned(), (_, response) => {
    asked += 1;
    response.end();
  });
  const { port, close } = await listenLocally(server);
  onTestFinished(close);
  expect(await post(`https://127.0.0.1:${port}/`)).toEqual({
    kind: "unanswered",
    fault: "not sent: the certificate is not valid (DEPTH_ZERO_SELF_SIGNED_CERT)",
  });
  expect(asked).toBe(0);
});

test("a failed connection is described in words", async () => {
  const refused = { kind: "unanswered", fault: "no connection (ECONNREFUSED)" };
  expect(await post("http://127.0.0.1:1/")).toEqual(refused);
  const unknown = await post("http://does-not-exist.invalid/", true, undefined, 10_000);
  expect(unknown).toEqual({ kind: "unanswered", fault: "the name does not resolve" });
});
