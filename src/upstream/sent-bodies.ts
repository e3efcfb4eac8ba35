import type { Socket } from "node:net";

import type { buildConnector, Dispatcher } from "undici";

import { assert, type BufferPool, type LentBuffer } from "../kernel/index.ts";
import type { UpstreamRequest } from "../formats/index.ts";

type DispatchedBody = Omit<Dispatcher.DispatchOptions, "body"> & {
  readonly body: Exclude<UpstreamRequest["body"], Buffer>;
};

/**
 * Sends request bodies from pooled buffers. A buffer may be reused for another customer only after
 * its bytes have left this process. So it returns to the pool after its write to the socket has
 * succeeded, and goes to the garbage collector after a failed or missing write. The end of the
 * answer proves nothing: providers may answer before they have read the body.
 */
export class SentBodies {
  readonly #pool: BufferPool;

  constructor(pool: BufferPool) {
    this.#pool = pool;
  }

  /** The dispatcher's sockets must come from `connector`, which tracks the writes. */
  dispatch(
    dispatcher: Pick<Dispatcher, "dispatch">,
    { body, ...options }: DispatchedBody,
    handler: Dispatcher.DispatchHandler,
  ): void {
    const loan = this.#pool.lend(body.length);
    if (loan === undefined) {
      dispatcher.dispatch({ ...options, body: body.toBuffer() }, handler);
      return;
    }
    const sent = new SentBody(loan);
    const bytes: FollowedBytes = loan.bytes;
    bytes[SENT] = sent;
    body.writeTo(bytes);
    const followed = handler instanceof PassingHandler ? handler : new PassingHandler(handler);
    followed.body = sent;
    try {
      dispatcher.dispatch({ ...options, body: bytes }, followed);
    } catch (fault) {
      sent.requestEnded();
      throw fault;
    }
  }

  /** Wraps a connector so that it tracks the writes of bodies on its sockets. */
  connector(connect: buildConnector.connector): buildConnector.connector {
    return followSockets(connect, (socket) => this.follow(socket));
  }

  follow(socket: Pick<Socket, "write" | "destroy">): void {
    const write = socket.write.bind(socket);
    socket.write = (
      chunk: Uint8Array | string,
      second?: BufferEncoding | WriteCallback,
      third?: WriteCallback,
    ): boolean => {
      const sent = typeof chunk === "string" ? undefined : (chunk as FollowedBytes)[SENT];
      if (sent === undefined) {
        return typeof second === "function"
          ? write(chunk, undefined, second)
          : write(chunk, second, third);
      }
      if (!sent.startWriting()) {
        // By now, the buffer may hold another customer's body, so the bytes are not written.
        socket.destroy(new Error("a body is written once"));
        return false;
      }
      return write(chunk, undefined, (fault) => sent.written(fault));
    };
  }
}

/** Wraps a connector so that `follow` gets every socket that it connects. */
export function followSockets(
  connect: buildConnector.connector,
  follow: (socket: Socket) => void,
): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...outcome) => {
      if (outcome[0] === null) follow(outcome[1]);
      callback(...outcome);
    });
}

/** A buffer's property for its `SentBody`. A WeakMap would slow down every garbage collection. */
const SENT = Symbol("sent body");

interface FollowedBytes extends Buffer {
  [SENT]?: SentBody;
}

type WriteCallback = (fault?: Error | null) => void;

class SentBody {
  readonly #loan: LentBuffer;
  #state: "waiting" | "writing" | "over" = "waiting";

  constructor(loan: LentBuffer) {
    this.#loan = loan;
  }

  /** False if the body was written before, or its request has ended. */
  startWriting(): boolean {
    if (this.#state !== "waiting") return false;
    this.#state = "writing";
    return true;
  }

  written(fault: Error | null | undefined): void {
    assert(this.#state === "writing", "a write ends once");
    this.#state = "over";
    if (fault == null) this.#loan.giveBack();
    else this.#loan.leave();
  }

  /** Call it when the request has ended. A running write then gives the buffer back or drops it. */
  requestEnded(): void {
    if (this.#state !== "waiting") return;
    this.#state = "over";
    this.#loan.leave();
  }
}

/** Passes all events to `handler`, and tells `body` when the request has ended. */
export class PassingHandler implements Dispatcher.DispatchHandler {
  /** The request's body; undefined if it is not in a lent buffer. */
  body: SentBody | undefined;
  readonly #handler: Dispatcher.DispatchHandler;

  constructor(handler: Dispatcher.DispatchHandler) {
    this.#handler = handler;
  }

  onRequestStart(controller: Controller, context: unknown): void {
    this.#handler.onRequestStart?.(controller, context);
  }

  onResponseStart(...head: Parameters<Handler["onResponseStart"]>): void {
    this.#handler.onResponseStart?.(...head);
    // The raw headers are unused, but undici would keep them and their bytes until the answer ends.
    head[0].rawHeaders = null;
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    this.#handler.onResponseData?.(controller, chunk);
  }

  onResponseEnd(...end: Parameters<Handler["onResponseEnd"]>): void {
    this.body?.requestEnded();
    this.#handler.onResponseEnd?.(...end);
  }

  onResponseError(controller: Controller, error: Error): void {
    this.body?.requestEnded();
    this.#handler.onResponseError?.(controller, error);
  }
}

type Handler = Required<Dispatcher.DispatchHandler>;
type Controller = Dispatcher.DispatchController;
