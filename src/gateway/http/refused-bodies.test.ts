import { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";

import { afterEach, describe, expect, test } from "vitest";

import { Listeners } from "../../../test/support/http-listener.ts";
import { plainPrincipal } from "../../../test/support/plain-ports.ts";
import { BufferPool } from "../../kernel/core/buffer-pool.ts";
import { BODY_BYTES_MAX } from "../../kernel/core/constants.ts";
import { refusal, refused } from "../../kernel/core/refusals.ts";
import { ArrivingBodies } from "./connections.ts";
import { readBody } from "./read-body.ts";
import { post } from "./route-table.ts";

const listeners = new Listeners();
afterEach(() => listeners.close());

interface Sent {
  readonly text: string;
  /** How the connection ended for the client: `orderly`, or the message of the fault. */
  readonly end: string;
}

/** Sends a request, and reads only after its whole body is sent, as many libraries do. */
async function sendAll(port: number, head: string, body: readonly Buffer[]): Promise<Sent> {
  return await new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    const chunks: Buffer[] = [];
    const text = (): string => Buffer.concat(chunks).toString("latin1");
    socket.on("error", (fault) => resolve({ text: text(), end: fault.message }));
    socket.on("end", () => resolve({ text: text(), end: "orderly" }));
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.pause();
    socket.write(`POST /v1/messages HTTP/1.1\r\nhost: a\r\nconnection: close\r\n${head}\r\n`);
    for (const piece of body) socket.write(piece);
    socket.write("", () => socket.resume());
  });
}

const MB = Buffer.alloc(1_000_000, 0x20);
const TOO_LARGE = Buffer.alloc(BODY_BYTES_MAX + 1, 0x20);
const notAuthenticated = {
  authenticator: {
    authenticate: () => refused(refusal("auth", "no valid API key")),
    forget: () => undefined,
  },
};

describe("a client that sends its whole body before it reads", () => {
  test.each([
    ["a 413 for a body of one byte too many", 5, [TOO_LARGE], {}, 413],
    ["a 401 after a body of 20 MB", 3, Array.from({ length: 20 }, () => MB), notAuthenticated, 401],
  ] as const)("sees %s", async (_what, times, body, change, status) => {
    const { port } = await listeners.listen([post("/v1/messages", async () => undefined)], change);
    const { length } = Buffer.concat(body);
    for (let time = 0; time < times; time += 1) {
      const { text, end } = await sendAll(port, `content-length: ${length}\r\n`, body);
      expect({ time, end }).toEqual({ time, end: "orderly" });
      expect(text.slice(0, 12)).toBe(`HTTP/1.1 ${status}`);
      expect(text).toContain("request_id");
    }
  });

  test("sees a 413 for a chunked body without a length", async () => {
    const { port } = await listeners.listen([post("/v1/messages", async () => undefined)]);
    const chunk = [Buffer.from(`${MB.length.toString(16)}\r\n`), MB, Buffer.from("\r\n")];
    const body = Array.from({ length: 20 }, () => chunk).flat();
    const head = "transfer-encoding: chunked\r\n";
    const { text, end } = await sendAll(port, head, [...body, Buffer.from("0\r\n\r\n")]);
    expect(end).toBe("orderly");
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
  });
});

test("the bytes of a body are copied as they arrive, so that no chunk is kept", () => {
  const text = JSON.stringify({ model: "acme/fast", input: "é".repeat(40_000) });
  const request = Object.assign(new EventEmitter(), { headers: {} });
  const read: string[] = [];
  const arriving = new ArrivingBodies(BODY_BYTES_MAX);
  const { orgId } = plainPrincipal("org_test", "key_test");
  const bounds = { bytesMax: BODY_BYTES_MAX, pool: new BufferPool(), arriving, orgId };
  readBody(request as unknown as IncomingMessage, bounds, (done) => {
    if (done.ok) read.push(done.body.toString());
  });
  const [first, ...others] = Buffer.from(text);
  request.emit("data", Buffer.of(first ?? 0));
  // Reusing the buffer shows that its byte is copied: keeping the chunk takes 200 times the memory.
  const piece = Buffer.alloc(1);
  for (const byte of others) {
    piece[0] = byte;
    request.emit("data", piece);
  }
  request.emit("end");
  expect(read).toEqual([text]);
});
