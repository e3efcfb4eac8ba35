import { createServer, type Socket } from "node:net";

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { buildConnector, Pool, type Dispatcher } from "undici";

import { listenLocally, type LocalServer } from "../../test/support/local-server.ts";
import { BufferPool } from "../kernel/core/buffer-pool.ts";
import { EditedBytes } from "../kernel/json/splice.ts";
import { SentBodies } from "./sent-bodies.ts";

const BODY_BYTES = 300_000;
const ANSWER = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

let buffers: BufferPool;
let bodies: SentBodies;
let dispatcher: Pool;
let listening: LocalServer;
let sockets: Socket[];
/** The gateway's ends of connections. While these are held, no body leaves this process. */
let held: Socket[];
let areHeld: boolean;
/** The provider's behaviour on a new connection. */
let onSocket: (socket: Socket) => void;

beforeEach(async () => {
  buffers = new BufferPool();
  bodies = new SentBodies(buffers);
  sockets = [];
  held = [];
  areHeld = false;
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined);
    onSocket(socket);
  });
  listening = await listenLocally(server);
  dispatcher = new Pool(listening.url, {
    pipelining: 1,
    connect: bodies.connector(holding(buildConnector({}))),
  });
});

afterEach(async () => {
  await dispatcher.destroy();
  await listening.close();
});

describe("a lent buffer", () => {
  test("is returned when the body was written, before the provider answers", async () => {
    onSocket = (socket) => void socket.resume();
    void send("x");
    await until(() => buffers.idleBytes > 0);
    expect(buffers.lentBytes).toBe(0);
  });

  test("stays on loan while a provider that has answered has not read the body", async () => {
    areHeld = true;
    let arrived = 0;
    onSocket = (socket) => socket.on("data", (chunk: Buffer) => (arrived += chunk.length));
    const status = send("x");
    await until(() => sockets.length > 0 && held.some((socket) => socket.writableLength > 0));
    sockets[0]?.write(ANSWER);
    expect(await status).toBe(200);
    expect([buffers.lentBytes > 0, buffers.idleBytes]).toEqual([true, 0]);
    for (const socket of held) socket.uncork();
    await until(() => buffers.idleBytes > 0 && arrived > BODY_BYTES);
    expect(buffers.lentBytes).toBe(0);
  });

  test("is left to the garbage collector when its connection breaks while it is written", async () => {
    areHeld = true;
    onSocket = () => undefined;
    const status = send("x");
    await until(() => sockets.length > 0 && held.some((socket) => socket.writableLength > 0));
    sockets[0]?.resetAndDestroy();
    expect(await status).toBeInstanceOf(Error);
    await until(() => buffers.lentBytes === 0);
    expect(buffers.idleBytes).toBe(0);
  });

  test("is not reused when the request ends without a connection", async () => {
    await listening.close();
    expect(await send("x")).toBeInstanceOf(Error);
    expect([buffers.lentBytes, buffers.idleBytes]).toEqual([0, 0]);
  });

  test("is not reused when the request is aborted while it is written", async () => {
    areHeld = true;
    onSocket = () => undefined;
    const ended = send("x", (controller) => setImmediate(() => controller.abort(new Error("no"))));
    expect(await ended).toMatchObject({ message: "no" });
    await until(() => buffers.lentBytes === 0);
    expect(buffers.idleBytes).toBe(0);
  });
});

test("a body written a second time destroys the socket, and no byte is sent again", async () => {
  onSocket = (socket) => void socket.resume();
  const written: unknown[] = [];
  let destroyed: Error | undefined;
  const socket = {
    write: (chunk: unknown, _encoding?: unknown, callback?: () => void) => {
      written.push(chunk);
      callback?.();
      return true;
    },
    destroy: (fault?: Error) => {
      destroyed = fault;
      return socket as unknown as Socket;
    },
  };
  bodies.follow(socket);
  let bytes: Uint8Array | undefined;
  const taking = { dispatch: (options: Dispatcher.DispatchOptions) => taken(options) };
  const taken = (options: Dispatcher.DispatchOptions): boolean => {
    bytes = options.body as Uint8Array;
    return true;
  };
  bodies.dispatch(taking, { method: "POST", path: "/", body: edited("x") }, {});
  if (bytes === undefined) throw new Error("nothing was dispatched");
  expect(socket.write(bytes)).toBe(true);
  expect(buffers.idleBytes).toBeGreaterThan(0);
  expect(socket.write(bytes)).toBe(false);
  expect(destroyed).toMatchObject({ message: "a body is written once" });
  expect(written).toHaveLength(1);
});

test("without a buffer to lend the body is sent all the same", async () => {
  bodies = new SentBodies(new BufferPool(0));
  let arrived = 0;
  onSocket = (socket) => {
    socket.on("data", (chunk: Buffer) => {
      arrived += chunk.length;
      if (arrived > BODY_BYTES) socket.write(ANSWER);
    });
  };
  expect(await send("x")).toBe(200);
});

function holding(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...outcome) => {
      if (areHeld && outcome[0] === null) {
        outcome[1].cork();
        held.push(outcome[1]);
      }
      callback(...outcome);
    });
}

function edited(letter: string): EditedBytes {
  return new EditedBytes(Buffer.alloc(BODY_BYTES, letter), [{ start: 0, end: 1, text: "first" }]);
}

/** Resolves with the status of the answer, or with the error that ended the request. */
async function send(
  letter: string,
  onStart: (controller: Dispatcher.DispatchController) => void = () => undefined,
): Promise<number | Error> {
  let status = 0;
  return await new Promise((resolve) => {
    bodies.dispatch(
      dispatcher,
      { method: "POST", path: "/", body: edited(letter) },
      {
        onRequestStart: onStart,
        onResponseStart: (_controller, code) => void (status = code),
        onResponseEnd: () => resolve(status),
        onResponseError: (_controller, fault) => resolve(fault),
      },
    );
  });
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}
