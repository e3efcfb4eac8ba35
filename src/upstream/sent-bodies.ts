import type { Socket } from "node:net";

import type { buildConnector, Dispatcher } from "undici";

import { assert, type BufferPool, type LentBuffer } from "../kernel/index.ts";
import type { UpstreamRequest } from "../formats/index.ts";

type DispatchedBody = Omit<Dispatcher.DispatchOptions, "body"> & {
  readonly body: Exclude<UpstreamRequest["body"], Buffer>;
};

/**
 * Sends request bodies from pooled buffers. A buffer may only be reused for another customer once
 * its bytes have left this process. So it is returned after its write to the socket has succeeded,
 * and left to the garbage collector after a failed or missing write. The end of the answer proves
 * nothing, because providers may answer before they have read the body.
 */
export class SentBodies {
  readonly #pool: BufferPool;

  constructor(pool: BufferPool) {
    this.#pool = pool;
  }

  /** Writes the body and dispatches the request. The sockets must come from `connector`. */
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

  /** Wraps a connector so that the writes of bodies on its sockets are followed. */
  connector(connect: buildConnector.connector): buildConnector.connector {
    return (options, callback) =>
      connect(options, (...outcome) => {
        if (outcome[0] === null) this.follow(outcome[1]);
        callback(...outcome);
      });
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
        // The buffer may hold the body of another customer by now.
        socket.destroy(new Error("a body is written once"));
        return false;
      }
      return write(chunk, undefined, (fault) => sent.written(fault));
    };
  }
}

/** A property of the bytes, because every garbage collection would walk a weak map of them. */
const SENT = Symbol("sent body");

interface FollowedBytes extends Buffer {
  [SENT]?: SentBody;
}

type WriteCallback = (fault?: Error | null) => void;

/** One body in a lent buffer. */
class SentBody {
  readonly #loan: LentBuffer;
  #state: "waiting" | "writing" | "over" = "waiting";

  constructor(loan: LentBuffer) {
    this.#loan = loan;
  }

  /** False if it was written before, or its request is over. */
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

  /** Called when the request is over. A body that is being written ends with its write. */
  requestEnded(): void {
    if (this.#state !== "waiting") return;
    this.#state = "over";
    this.#loan.leave();
  }
}

/** Passes everything on, and reports the end of the request to its body. */
export class PassingHandler implements Dispatcher.DispatchHandler {
  /** The body of the request, if it is in a lent buffer. */
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
    // Not used; undici would keep them, and the bytes they came in, for as long as the stream.
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
