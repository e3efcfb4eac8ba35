import type { Socket } from "node:net";

import type { buildConnector, Dispatcher } from "undici";

import { assert, type BufferPool, type LentBuffer } from "../kernel/index.ts";
import type { UpstreamRequest } from "../formats/index.ts";

type DispatchedBody = Omit<Dispatcher.DispatchOptions, "body"> & {
  readonly body: Exclude<UpstreamRequest["body"], Buffer>;
};

/**
 * Bodies on their way to providers, in buffers of the pool. What another customer's body is written
 * into next must have left this process: a buffer goes back when the very write of it to its socket
 * has succeeded, and in every other case, a failed or missing write, it is left to the garbage
 * collector. The end of the answer says nothing: providers answer before they have read a body.
 */
export class SentBodies {
  readonly #pool: BufferPool;
  readonly #open = new WeakMap<Uint8Array, SentBody>();

  constructor(pool: BufferPool) {
    this.#pool = pool;
  }

  /** Writes the body and dispatches the request, over sockets of `connector`. */
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
    this.#open.set(loan.bytes, sent);
    body.writeTo(loan.bytes);
    try {
      const followed = new SentBodyHandler(handler, sent);
      dispatcher.dispatch({ ...options, body: loan.bytes }, followed);
    } catch (fault) {
      sent.requestEnded();
      throw fault;
    }
  }

  /** Makes sockets whose writes of bodies are followed. */
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
      const sent = typeof chunk === "string" ? undefined : this.#open.get(chunk);
      if (sent === undefined) {
        return typeof second === "function"
          ? write(chunk, undefined, second)
          : write(chunk, second, third);
      }
      if (!sent.startWriting()) {
        // By now the memory may hold the body of another customer.
        socket.destroy(new Error("a body is written once"));
        return false;
      }
      return write(chunk, undefined, (fault) => sent.written(fault));
    };
  }
}

type WriteCallback = (fault?: Error | null) => void;

/** One body in a lent buffer: not written, being written, or over. */
class SentBody {
  readonly #loan: LentBuffer;
  #state: "waiting" | "writing" | "over" = "waiting";

  constructor(loan: LentBuffer) {
    this.#loan = loan;
  }

  /** False: it was written before, or will not be. */
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

  /** The request is over. A body that is still being written ends with its write. */
  requestEnded(): void {
    if (this.#state !== "waiting") return;
    this.#state = "over";
    this.#loan.leave();
  }
}

/** Passes everything on; what extends it says where it does more. */
export class PassingHandler implements Dispatcher.DispatchHandler {
  readonly #handler: Dispatcher.DispatchHandler;

  constructor(handler: Dispatcher.DispatchHandler) {
    this.#handler = handler;
  }

  onRequestStart(...start: Parameters<Handler["onRequestStart"]>): void {
    this.#handler.onRequestStart?.(...start);
  }

  onResponseStart(...head: Parameters<Handler["onResponseStart"]>): void {
    this.#handler.onResponseStart?.(...head);
  }

  onResponseData(...data: Parameters<Handler["onResponseData"]>): void {
    this.#handler.onResponseData?.(...data);
  }

  onResponseEnd(...end: Parameters<Handler["onResponseEnd"]>): void {
    this.#handler.onResponseEnd?.(...end);
  }

  onResponseError(...failure: Parameters<Handler["onResponseError"]>): void {
    this.#handler.onResponseError?.(...failure);
  }
}

/** Reports the end of the request, too. */
class SentBodyHandler extends PassingHandler {
  readonly #sent: SentBody;

  constructor(handler: Dispatcher.DispatchHandler, sent: SentBody) {
    super(handler);
    this.#sent = sent;
  }

  override onResponseEnd(...end: Parameters<Handler["onResponseEnd"]>): void {
    this.#sent.requestEnded();
    super.onResponseEnd(...end);
  }

  override onResponseError(...failure: Parameters<Handler["onResponseError"]>): void {
    this.#sent.requestEnded();
    super.onResponseError(...failure);
  }
}

type Handler = Required<Dispatcher.DispatchHandler>;
