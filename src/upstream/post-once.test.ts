import { createServer, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";

import { describe, expect, onTestFinished, test } from "vitest";

import { selfSigned } from "../../test/support/self-signed.ts";
import { nameServer } from "../../test/support/name-server.ts";
import { postOnce, type PostEnd } from "./post-once.ts";
import { type FindAddresses, ForeignNames } from "./resolve-names.ts";

/** Answers where it listens, and how many connections it has had. */
async function listen(
  answer: RequestListener,
  host = "127.0.0.1",
): Promise<{ port: number; connections: () => number }> {
  const server = createServer(answer);
  let connections = 0;
  server.on("connection", () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => {
    server.listen(0, host, resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, connections: () => connections };
}

async function post(
  url: string,
  allowPrivate = true,
  find: FindAddresses = new ForeignNames().of("org_1"),
): Promise<PostEnd> {
  const headers = { "content-type": "application/json" };
  const timeoutMs = 500;
  return await postOnce({ url: new URL(url), headers, body: "{}", timeoutMs, allowPrivate, find });
}

describe("what is refused without a connection", () => {
  test.each([["127.0.0.1"], ["localhost"], ["hooks.example"]])("%s", async (host) => {
    const { port, connections } = await listen((_, response) => response.end(), "0.0.0.0");
    const url = `http://${host}:${port}/`;
    const { address } = await nameServer("127.0.0.1");
    const find = new ForeignNames([address]).of("org_1");
    expect(await post(url, false, find)).toEqual({
      kind: "unanswered",
      fault: "not sent: the address is private",
    });
    expect(connections()).toBe(0);
    // It is there.
    expect(await post(url, true, find)).toEqual({ kind: "answered", status: 200 });
  });

  test.each([["169.254.169.254"], ["[::1]"], ["10.1.2.3"], ["[::ffff:127.0.0.1]"]])(
    "%s",
    async (host) => {
      const end = await post(`http://${host}:9/`, false);
      expect(end).toEqual({ kind: "unanswered", fault: "not sent: the address is private" });
    },
  );
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
  test("where it never begins", async () => {
    const { port } = await listen(() => undefined);
    const url = `http://127.0.0.1:${port}/`;
    expect(await post(url)).toEqual({ kind: "unanswered", fault: "no answer within 0.5 seconds" });
  });

  test("where its body never ends: the status counts, and the connection is closed", async () => {
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
    expect(await post(`http://127.0.0.1:${port}/`)).toEqual({ kind: "answered", status: 200 });
    expect(performance.now() - startMs).toBeLessThan(1_500);
    const before = sent;
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(sent - before).toBeLessThan(3);
  });

  test("where it is endless and fast: some thousand bytes are read", async () => {
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
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  expect(await post(`https://127.0.0.1:${port}/`)).toEqual({
    kind: "unanswered",
    fault: "not sent: the certificate is not valid (DEPTH_ZERO_SELF_SIGNED_CERT)",
  });
  expect(asked).toBe(0);
});

test("what there is no connection to is said in words", async () => {
  expect(await post("http://127.0.0.1:1/")).toEqual({
    kind: "unanswered",
    fault: "no connection (ECONNREFUSED)",
  });
  const unknown = await post("http://does-not-exist.invalid/");
  expect(unknown).toEqual({ kind: "unanswered", fault: "the name does not resolve" });
});
