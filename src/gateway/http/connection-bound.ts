import type { Server } from "node:http";
import type { Duplex } from "node:stream";

import {
  JOURNAL_RETRY_AFTER_SECONDS,
  refusal,
  type Refusal,
  REFUSED_CONNECTIONS_MAX,
} from "../../kernel/index.ts";
import { destroyAfter } from "./closing.ts";

/** Counts a server's connections; what is over the bound is refused with an answer, then closed. */
export class ConnectionBound {
  readonly #refused = new WeakSet<Duplex>();
  #open = 0;
  #refusedOpen = 0;

  constructor(server: Server, bound: { readonly max: number; readonly lingerMs: number }) {
    server.on("connection", (socket) => {
      if (this.#open < bound.max) {
        this.#open += 1;
        socket.once("close", () => (this.#open -= 1));
        return;
      }
      // Answers take descriptors too: beyond this many at once there is none.
      if (this.#refusedOpen >= REFUSED_CONNECTIONS_MAX) {
        socket.destroy();
        return;
      }
      this.#refused.add(socket);
      this.#refusedOpen += 1;
      socket.once("close", () => (this.#refusedOpen -= 1));
      destroyAfter(socket, bound.lingerMs);
    });
  }

  /** The refusal of requests on this connection; undefined when it is within the bound. */
  refusalOf(socket: Duplex): Refusal | undefined {
    return this.#refused.has(socket) ? TOO_MANY_CONNECTIONS : undefined;
  }
}

const TOO_MANY_CONNECTIONS: Refusal = refusal(
  "gateway_error",
  `this gateway has reached its maximum number of open connections; nothing was sent and nothing charged, resend in ${JOURNAL_RETRY_AFTER_SECONDS} seconds`,
  {
    status: 503,
    origin: "gateway_infrastructure",
    limit: { scope: "platform", kind: "capacity" },
    retryAfterSeconds: JOURNAL_RETRY_AFTER_SECONDS,
  },
);
