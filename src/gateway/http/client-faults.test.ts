import { afterEach, describe, expect, test, vi } from "vitest";

import { connectionsOf, Listeners, NO_TIMEOUTS } from "../../../test/support/http-listener.ts";
import { get, post, type Route } from "./route-table.ts";

/** How long a test waits; a server that works needs about a hundredth of this time. */
const PATIENCE = { timeout: 5_000, interval: 10 };
const SOON = { ...NO_TIMEOUTS, lingerMs: 50 };

const listeners = new Listeners();
afterEach(() => listeners.close());

const idle: Route["serve"] = async () => undefined;

test("connections over the bound are answered with a 503 and closed, while connections within the bound are served", async () => {
  const served: Route["serve"] = async (exchange) => exchange.answer("text/plain", {}, "ok");
  const { port, server } = await listeners.listen([get("/v1/models", served)], {
    clientTimeouts: { ...SOON, lingerMs: 500 },
    connectionsMax: 2,
  });
  const request = "GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n";
  const first = await listeners.client(port, request);
  const second = await listeners.client(port, "");
  await vi.waitFor(async () => expect(await connectionsOf(server)).toBe(2), PATIENCE);
  const third = await listeners.client(port, request);
  const silent = await listeners.client(port, "");
  await vi.waitFor(() => expect(third.hasEnded()).toBe(true), PATIENCE);
  expect(third.text()).toMatch(/^HTTP\/1\.1 503 /);
  expect(third.text()).toMatch(/\r\nconnection: close\r\n/i);
  expect(third.text()).toMatch(/\r\nretry-after: 2\r\n/i);
  expect(third.text()).toMatch(/\r\nx-tm-error-code: gateway_error\r\n/i);
  await vi.waitFor(() => expect(silent.hasEnded()).toBe(true), PATIENCE);
  await vi.waitFor(async () => expect(await connectionsOf(server)).toBe(2), PATIENCE);
  first.socket.destroy();
  await vi.waitFor(async () => expect(await connectionsOf(server)).toBe(1), PATIENCE);
  second.socket.write(request);
  const again = await listeners.client(port, request);
  await vi.waitFor(() => expect(again.text()).toMatch(/^HTTP\/1\.1 200 /), PATIENCE);
  await vi.waitFor(() => expect(second.text()).toMatch(/^HTTP\/1\.1 200 /), PATIENCE);
});

describe("bytes that are not a valid request", () => {
  const head = "POST /v1/messages HTTP/1.1\r\nhost: a\r\n";
  const long = `x: ${"a".repeat(20_000)}\r\n\r\n`;
  const CODES = { 400: "invalid_request", 408: "invalid_request", 431: "request_too_large" };
  test.each([
    ["a malformed request line", "\0\0\0\r\n\r\n", 400, "wire_a"],
    ["two host headers", "GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", 400, "wire_a"],
    ["headers over 16 KB", `GET / HTTP/1.1\r\n${long}`, 431, "wire_a"],
    ["headers over 16 KB on the messages route", head + long, 431, "wire_b"],
    ["headers that do not end", "GET / HTTP/1.1\r\nhost: a\r\n", 408, "wire_a"],
    ["a body that does not end", `${head}content-length: 10\r\n\r\nhalf`, 408, "wire_b"],
    ["an invalid chunk", `${head}transfer-encoding: chunked\r\n\r\nzz\r\n`, 400, "wire_b"],
  ] as const)("with %s get the documented error body", async (_what, bytes, status, wire) => {
    const limitMs = status === 408 ? 100 : NO_TIMEOUTS.headersMs;
    const { port, server, logged } = await listeners.listen([post("/v1/messages", idle)], {
      clientTimeouts: { ...SOON, headersMs: limitMs, bodyMs: limitMs },
    });
    const client = await listeners.client(port, bytes);
    await vi.waitFor(() => expect(client.hasEnded()).toBe(true), PATIENCE);
    const [lines = "", body = ""] = client.text().split("\r\n\r\n");
    expect(lines).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    const headers = new Map(
      lines.split("\r\n").map((line) => line.split(": ", 2) as [string, string]),
    );
    const id = headers.get("x-request-id") ?? "";
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(headers.get("x-tm-error-code")).toBe(CODES[status]);
    expect(headers.get("connection")).toBe("close");
    const parsed = JSON.parse(body) as Record<string, unknown>;
    expect(parsed).toMatchObject({ request_id: id, error: { message: expect.any(String) } });
    expect(parsed["type"]).toBe(wire === "wire_b" ? "error" : undefined);
    await vi.waitFor(() => expect(logged()).toContain(id), PATIENCE);
    // The server does not wait for the client to close its side of the connection.
    await vi.waitFor(async () => expect(await connectionsOf(server)).toBe(0), PATIENCE);
  });

  test("get no error answer inside the answer to another request", async () => {
    const { port } = await listeners.listen(
      [
        get("/v1/models", async (exchange) => {
          exchange.begin("text/plain", {});
          exchange.write("half");
        }),
      ],
      { clientTimeouts: SOON },
    );
    const client = await listeners.client(port, "GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n");
    await vi.waitFor(() => expect(client.text()).toContain("half"), PATIENCE);
    client.socket.write("\0\0\0\r\n\r\n");
    await vi.waitFor(
      () => expect(client.socket.readableEnded || client.socket.destroyed).toBe(true),
      PATIENCE,
    );
    expect(client.text()).not.toContain("HTTP/1.1 400");
  });
});
