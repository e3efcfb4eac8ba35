import { once } from "node:events";
import type { Server } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";

import { pino } from "pino";
import { afterEach, describe, expect, test, vi } from "vitest";

import { PLAIN_RULES } from "../auth/account-rules.ts";
import type { Principal } from "../auth/principal.ts";
import { Deadlines } from "../core/deadlines.ts";
import type { KeyId, OrgId } from "../core/ids.ts";
import { systemClock } from "../core/time.ts";
import { GatewayMetrics } from "../gateway/metrics.ts";
import { CLIENT_TIMEOUTS, type ClientTimeouts } from "./client-timeouts.ts";
import { createGatewayServer, type GatewayServerOptions } from "./gateway-server.ts";
import { RequestLog } from "./request-log.ts";
import { get, post, RouteTable, type Route } from "./route-table.ts";

const PRINCIPAL: Principal = {
  orgId: "org_test" as OrgId,
  keyId: "key_test" as KeyId,
  keyOrigin: "console",
  requestsPerMinuteCeiling: 300,
  funded: true,
  managed: false,
  rules: PLAIN_RULES,
};

/** Longer than any test takes: a limit under test is never waited for. */
const NEVER_MS = 600_000;
const NO_TIMEOUTS: ClientTimeouts = {
  headersMs: NEVER_MS,
  bodyMs: NEVER_MS,
  writeIdleMs: NEVER_MS,
  checkEveryMs: 20,
};
/** A limit that holds is met a hundred times sooner. */
const PATIENCE = { timeout: 20_000, interval: 10 };

const servers: Server[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

interface Listening {
  readonly port: number;
  readonly url: string;
  readonly logged: () => string;
}

async function listen(
  routes: readonly Route[],
  change: Partial<GatewayServerOptions> = {},
): Promise<Listening> {
  const lines: string[] = [];
  const server = createGatewayServer({
    clock: systemClock,
    deadlines: new Deadlines(systemClock),
    clientTimeouts: NO_TIMEOUTS,
    authenticator: { authenticate: () => PRINCIPAL, forget: () => undefined },
    routes: new RouteTable(routes),
    metrics: new GatewayMetrics(),
    log: new RequestLog(
      pino({ level: "info" }, { write: (line: string) => void lines.push(line) }),
    ),
    refuseUnread: (exchange, refusal) => exchange.refuse(refusal),
    ready: () => true,
    ...change,
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { port, url: `http://127.0.0.1:${port}`, logged: () => lines.join("") };
}

/** A client that sends these bytes and then nothing more. */
async function stalledClient(port: number, bytes: string): Promise<{ isClosed: () => boolean }> {
  const socket = connect({ host: "127.0.0.1", port });
  sockets.push(socket);
  let closed = false;
  socket.on("close", () => (closed = true));
  socket.on("error", () => undefined);
  socket.resume();
  await once(socket, "connect");
  socket.write(bytes);
  return { isClosed: () => closed };
}

describe("a connection is closed when its client is too slow", () => {
  test("with its headers", async () => {
    const { port } = await listen([], { clientTimeouts: { ...NO_TIMEOUTS, headersMs: 200 } });
    const client = await stalledClient(port, "GET /healthz HTTP/1.1\r\nhost: a\r\nx-slow: ");
    await vi.waitFor(() => expect(client.isClosed()).toBe(true), PATIENCE);
  });

  test("with its body", async () => {
    const clientTimeouts = { ...NO_TIMEOUTS, headersMs: 200, bodyMs: 200 };
    const serve = vi.fn<Route["serve"]>(async () => undefined);
    const { port } = await listen([post("/v1/messages", serve)], { clientTimeouts });
    const head = "POST /v1/messages HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n";
    const client = await stalledClient(port, `${head}half`);
    await vi.waitFor(() => expect(client.isClosed()).toBe(true), PATIENCE);
    expect(serve).not.toHaveBeenCalled();
  });

  test("with reading its answer, and the handler is notified", async () => {
    const left = vi.fn<() => void>();
    const flood = get("/v1/models", async (exchange) => {
      exchange.onGone(left);
      exchange.begin("text/plain", {});
      const piece = "x".repeat(1024 * 1024);
      // The system's buffers take some of it: only what they no longer take is unread.
      let mibLeft = 256;
      const pump = (): void => {
        while (mibLeft > 0 && exchange.write(piece)) mibLeft -= 1;
      };
      exchange.onWritable(pump);
      pump();
    });
    const clientTimeouts = { ...NO_TIMEOUTS, writeIdleMs: 200 };
    const { port } = await listen([flood], { clientTimeouts });
    const client = connect({ host: "127.0.0.1", port });
    sockets.push(client);
    client.on("error", () => undefined);
    client.pause();
    client.write("GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n");
    await vi.waitFor(() => expect(left).toHaveBeenCalledTimes(1), PATIENCE);
  });

  test("after 15 s, 60 s and 60 s in the program", async () => {
    expect(CLIENT_TIMEOUTS).toMatchObject({
      headersMs: 15_000,
      bodyMs: 60_000,
      writeIdleMs: 60_000,
    });
    expect(CLIENT_TIMEOUTS.checkEveryMs).toBeLessThan(CLIENT_TIMEOUTS.headersMs);
    await listen([], { clientTimeouts: CLIENT_TIMEOUTS });
    expect(servers[0]).toMatchObject({ headersTimeout: 15_000, requestTimeout: 60_000 });
  });
});

describe("a handler that crashes", () => {
  const crash = async (): Promise<void> => {
    throw new Error("a bug in a recipe");
  };

  async function crashed(path: string, change: Partial<GatewayServerOptions> = {}) {
    const { url, logged } = await listen([post(path, crash)], change);
    const answer = await fetch(url + path, { method: "POST", body: "{}" });
    expect(answer.status).toBe(500);
    const requestId = answer.headers.get("x-request-id") ?? "";
    expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
    expect(answer.headers.get("x-tm-error-code")).toBe("gateway_error");
    expect(answer.headers.get("x-tm-error-origin")).toBe("gateway_infrastructure");
    expect(answer.headers.get("x-should-retry")).toBe("false");
    expect(logged()).toContain(requestId);
    expect(logged()).toContain("a bug in a recipe");
    const text = await answer.text();
    expect(text).not.toContain("a bug in a recipe");
    return { body: JSON.parse(text) as unknown, requestId };
  }

  const metadata = { origin: "gateway_infrastructure", retryable: false };

  test.each(["/v1/messages", "/v1/messages/count_tokens"])(
    "on %s is a 500 gateway_error in the shape of wire_b",
    async (path) => {
      const { body, requestId } = await crashed(path);
      expect(body).toEqual({
        type: "error",
        error: {
          type: "api_error",
          message: expect.stringContaining("report it with its id"),
          error_type: "gateway_error",
          metadata,
        },
        request_id: requestId,
      });
    },
  );

  test.each([
    "/v1/chat/completions",
    "/v1/images/generations",
    "/v1/videos",
    "/v1/decisions",
    "/v1/messages-of-others",
  ])("on %s is a 500 gateway_error in the shape of wire_a", async (path) => {
    const { body, requestId } = await crashed(path);
    expect(body).toEqual({
      error: {
        code: "gateway_error",
        message: expect.stringContaining("report it with its id"),
        type: expect.any(String),
        metadata: { error_type: "gateway_error", ...metadata },
      },
      request_id: requestId,
    });
  });

  test("before the key was checked answers in the shape of the path, too", async () => {
    const authenticate = (): Promise<never> => Promise.reject(new Error("a bug in a recipe"));
    const { body } = await crashed("/v1/messages", {
      authenticator: { authenticate, forget: () => undefined },
    });
    expect(body).toMatchObject({ type: "error", error: { error_type: "gateway_error" } });
  });

  test("inside of a stream breaks the connection, so that nothing passes for complete", async () => {
    const serve: Route["serve"] = async (exchange) => {
      exchange.begin("text/event-stream", {});
      exchange.write("data: 1\n\n");
      await crash();
    };
    const { url } = await listen([post("/v1/messages", serve)]);
    const answer = await fetch(`${url}/v1/messages`, { method: "POST", body: "{}" });
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow("terminated");
  });
});
