import { once } from "node:events";
import type { Server } from "node:http";
import { connect, type Socket } from "node:net";

import { pino } from "pino";

import { BufferPool } from "../../src/kernel/core/buffer-pool.ts";
import { ClientAddresses } from "../../src/kernel/core/client-address.ts";
import { Deadlines, systemClock } from "../../src/kernel/core/time.ts";
import { GatewayMetrics } from "../../src/gateway/call/metrics.ts";
import {
  ArrivingBodies,
  type ClientTimeouts,
  UnreadAnswers,
} from "../../src/gateway/http/connections.ts";
import {
  createGatewayServer,
  type GatewayServerOptions,
} from "../../src/gateway/http/gateway-server.ts";
import { RequestLog } from "../../src/gateway/call/request-log.ts";
import { RouteTable, type Route } from "../../src/gateway/http/route-table.ts";
import { listenLocally } from "./local-server.ts";
import { plainPrincipal } from "./plain-ports.ts";

const PRINCIPAL = plainPrincipal("org_test", "key_test");

const NEVER_MS = 600_000;
export const NO_TIMEOUTS: ClientTimeouts = {
  headersMs: NEVER_MS,
  bodyMs: NEVER_MS,
  writeIdleMs: NEVER_MS,
  lingerMs: NEVER_MS,
  checkEveryMs: 20,
};

export type Listening = Awaited<ReturnType<Listeners["listen"]>>;
/** A client that writes bytes and keeps its half of the connection open. */
export type RawClient = Awaited<ReturnType<Listeners["client"]>>;

export class Listeners {
  readonly #closers: (() => Promise<void>)[] = [];
  readonly #sockets: Socket[] = [];

  async listen(routes: readonly Route[], change: Partial<GatewayServerOptions> = {}) {
    const lines: string[] = [];
    const options: GatewayServerOptions = {
      clock: systemClock,
      deadlines: new Deadlines(systemClock),
      clientTimeouts: NO_TIMEOUTS,
      connectionsMax: 1_000,
      unread: new UnreadAnswers({ unreadBytesMax: 2 ** 30, unreadBytesMaxPerKey: 2 ** 30 }),
      arriving: new ArrivingBodies(2 ** 30),
      clientAddresses: new ClientAddresses(""),
      authenticator: {
        authenticate: () => ({ ok: true, principal: PRINCIPAL }),
        forget: () => undefined,
      },
      routes: new RouteTable(routes),
      metrics: new GatewayMetrics(),
      bodyPool: new BufferPool(),
      log: new RequestLog(
        pino({ level: "info" }, { write: (line: string) => void lines.push(line) }),
      ),
      refuseBeforeBody: () => false,
      onEnded: () => undefined,
      refuseUnread: (exchange, refusal) => exchange.refuse(refusal),
      readiness: { isReady: true, isDraining: false },
      ...change,
    };
    const server = createGatewayServer(options);
    const { port, url, close } = await listenLocally(server);
    this.#closers.push(close);
    return { port, url, server, options, logged: () => lines.join("") };
  }

  /** Connects a client and sends bytes. If `isReading` is false, it reads nothing that it gets. */
  async client(port: number, bytes: string | Buffer, isReading = true) {
    const socket = connect({ host: "127.0.0.1", port, allowHalfOpen: true });
    this.#sockets.push(socket);
    const chunks: Buffer[] = [];
    let ended = false;
    socket.on("end", () => (ended = true));
    socket.on("close", () => (ended = true));
    socket.on("error", () => undefined);
    let receivedBytes = 0;
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      receivedBytes += chunk.length;
    });
    if (!isReading) socket.pause();
    await once(socket, "connect");
    socket.write(bytes);
    const text = (): string => Buffer.concat(chunks).toString("latin1");
    return { socket, text, receivedBytes: () => receivedBytes, hasEnded: () => ended };
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.splice(0)) socket.destroy();
    for (const close of this.#closers.splice(0)) await close();
  }
}

export async function connectionsOf(server: Server): Promise<number> {
  return await new Promise((resolve, reject) => {
    server.getConnections((fault, count) => (fault === null ? resolve(count) : reject(fault)));
  });
}
