import type { Socket } from "node:net";

import type { buildConnector, Dispatcher } from "undici";

import { PassingHandler } from "./sent-bodies.ts";

/** How a connection ends that the other side has closed, politely or not. */
const ENDED_CODES: ReadonlySet<unknown> = new Set(["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"]);

/** Who is told what happens to a request. */
export type KeptHandler = Dispatcher.DispatchHandler & {
  /** Nobody waits for the answer any more; absent: somebody does. */
  readonly isUnwanted?: boolean;
};

interface Connection {
  /** How many were sent on it. */
  requests: number;
  /** Has it brought a byte since the last one was sent? */
  hasRead: boolean;
}

/** Knows of every connection to a provider whether it was used before. */
export class KeptConnections {
  #starting: KeptRequest | undefined;

  /** Makes sockets whose requests are followed. */
  connector(connect: buildConnector.connector): buildConnector.connector {
    return (options, callback) =>
      connect(options, (...outcome) => {
        if (outcome[0] === null) this.#follow(outcome[1]);
        callback(...outcome);
      });
  }

  /**
   * A handler for one request. `sendAgain` is called, once at most and in place of its failure, when
   * the request was sent on a connection that others had used and that ended before any byte of an
   * answer: most likely the provider had closed it before it saw the request. Not for a client who
   * has left: the answer would cost, and nobody would read it.
   */
  handler(handler: KeptHandler, sendAgain: () => void): Dispatcher.DispatchHandler {
    return new KeptRequest(handler, sendAgain, (request) => {
      this.#starting = request;
    });
  }

  #follow(socket: Socket): void {
    const connection: Connection = { requests: 0, hasRead: false };
    const write = socket.write.bind(socket);
    const read = socket.read.bind(socket);
    Object.assign(socket, {
      // undici announces a request and writes its head in one go.
      write: (...args: Parameters<typeof write>) => {
        this.#starting?.startsOn(connection);
        this.#starting = undefined;
        return write(...args);
      },
      // The socket's own count has bytes of TLS in it, of which a server sends some when it closes.
      read: (bytes?: number): unknown => {
        const chunk: unknown = read(bytes);
        if (chunk !== null) connection.hasRead = true;
        return chunk;
      },
    });
  }
}

class KeptRequest extends PassingHandler {
  readonly #handler: KeptHandler;
  readonly #sendAgain: () => void;
  readonly #announce: (request: KeptRequest) => void;
  #connection: Connection | undefined;

  constructor(
    handler: KeptHandler,
    sendAgain: () => void,
    announce: (request: KeptRequest) => void,
  ) {
    super(handler);
    this.#handler = handler;
    this.#sendAgain = sendAgain;
    this.#announce = announce;
  }

  startsOn(connection: Connection): void {
    this.#connection = connection.requests > 0 ? connection : undefined;
    connection.requests += 1;
    connection.hasRead = false;
  }

  override onRequestStart(...start: Parameters<PassingHandler["onRequestStart"]>): void {
    this.#announce(this);
    super.onRequestStart(...start);
  }

  override onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    const isUnanswered = this.#connection?.hasRead === false;
    const isOver = "code" in error && ENDED_CODES.has(error.code);
    if (isUnanswered && isOver && this.#handler.isUnwanted !== true) this.#sendAgain();
    else super.onResponseError(controller, error);
  }
}
