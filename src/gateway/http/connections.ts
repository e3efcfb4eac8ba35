import { type IncomingMessage, type Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

import {
  assert,
  DISCARD_BYTES_MAX,
  JOURNAL_RETRY_AFTER_SECONDS,
  type KeyId,
  LINGER_MS,
  type Refusal,
  REFUSED_CONNECTIONS_MAX,
  REQUEST_BODY_TIMEOUT_MS,
  REQUEST_HEADERS_TIMEOUT_MS,
  unavailable,
  WRITE_IDLE_TIMEOUT_MS,
} from "../../kernel/index.ts";

/** Bounds open connections. Further ones get a refusal, or are destroyed if too many get one. */
export class ConnectionBound {
  readonly #refused = new WeakSet<Duplex>();
  #open = 0;
  #refusedOpen = 0;

  constructor(server: Server, bound: { readonly max: number; readonly lingerMs: number }) {
    // One listener for all connections, because a closure for each would occupy memory.
    const onClosed = (): void => {
      this.#open -= 1;
    };
    server.on("connection", (socket) => {
      if (this.#open < bound.max) {
        this.#open += 1;
        socket.on("close", onClosed);
        return;
      }
      // Refused connections occupy file descriptors until they close, so they are bounded too.
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

  findRefusal(socket: Duplex): Refusal | undefined {
    return this.#refused.has(socket) ? TOO_MANY_CONNECTIONS : undefined;
  }
}

const CAPACITY = { scope: "platform", kind: "capacity" } as const;

const TOO_MANY_CONNECTIONS: Refusal = unavailable(
  `this gateway has reached its maximum number of open connections; nothing was sent and nothing charged, resend in ${JOURNAL_RETRY_AFTER_SECONDS} seconds`,
  CAPACITY,
);

const closing = new WeakSet<Duplex>();

/**
 * Closes a connection after its last written bytes. Keeps reading it for `lingerMs`, because
 * closing it with unread bytes would reset it and lose the answer. Then destroys it, because a
 * client that keeps its side open would occupy the file descriptor.
 */
export function closeConnection(socket: Duplex, lingerMs: number): void {
  if (closing.has(socket)) return;
  closing.add(socket);
  socket.end();
  destroyAfter(socket, lingerMs);
}

function destroyAfter(socket: Duplex, ms: number): void {
  const timer = setTimeout(() => socket.destroy(), ms);
  timer.unref();
  socket.once("close", () => clearTimeout(timer));
}

/**
 * Calls `listener` once: when the answer is complete, or its connection has closed. Not every
 * Node tells a waiting pipelined answer about the latter, so each listens to the socket.
 */
export function onceClosed(
  { socket }: IncomingMessage,
  response: ServerResponse,
  listener: () => void,
): void {
  // For example, the client has left while the console looked up its session.
  if (socket.destroyed) return process.nextTick(listener);
  const onClose = (): void => {
    response.off("close", onClose);
    socket.off("close", onClose);
    listener();
  };
  response.on("close", onClose);
  // More may wait than Node allows listeners by default.
  if (response.socket === null) socket.setMaxListeners(0).on("close", onClose);
}

/**
 * Bounds how many pipelined requests wait on a connection. Each takes many times as much memory as
 * its client has sent, and Node stops reading only if answers wait, not if requests do.
 */
export class PipelineBound {
  readonly #max: number;
  readonly #waiting = new WeakMap<Duplex, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** False if too many requests wait, or did: the connection is then destroyed. */
  admits({ socket }: IncomingMessage, response: ServerResponse): boolean {
    if (response.socket !== null) return true;
    const waiting = (this.#waiting.get(socket) ?? 0) + 1;
    if (waiting > this.#max) socket.destroy();
    if (socket.destroyed) return false;
    this.#waiting.set(socket, waiting);
    response.once("socket", () => {
      this.#waiting.set(socket, (this.#waiting.get(socket) ?? 1) - 1);
    });
    return true;
  }
}

export function hasUnreadBody(request: IncomingMessage): boolean {
  if (request.complete) return false;
  const { "content-length": length, "transfer-encoding": encoding } = request.headers;
  return encoding !== undefined || Number(length ?? 0) > 0;
}

/** Discards the rest of a body. Destroys the connection if the rest exceeds `DISCARD_BYTES_MAX`. */
export function discardBody(request: IncomingMessage, onEnd: () => void): void {
  let bytes = 0;
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > DISCARD_BYTES_MAX) request.destroy();
  });
  request.on("error", () => undefined);
  request.on("end", onEnd);
}

export interface ClientTimeouts {
  /** The longest time from the first byte of a request to the end of its headers. */
  readonly headersMs: number;
  /** The longest time from a request's first byte to the end of its body; at least `headersMs`. */
  readonly bodyMs: number;
  /** The longest time in which a client may read no byte of an answer. */
  readonly writeIdleMs: number;
  /**
   * How long a connection is read after its last answer; an earlier close could lose the answer.
   */
  readonly lingerMs: number;
  /** Time between checks of `headersMs` and `bodyMs`: a client may exceed them by this much. */
  readonly checkEveryMs: number;
}

export const CLIENT_TIMEOUTS: ClientTimeouts = {
  headersMs: REQUEST_HEADERS_TIMEOUT_MS,
  bodyMs: REQUEST_BODY_TIMEOUT_MS,
  writeIdleMs: WRITE_IDLE_TIMEOUT_MS,
  lingerMs: LINGER_MS,
  checkEveryMs: 5_000,
};

export interface UnreadAnswer {
  readonly keyId: KeyId;
  readonly bytes: number;
  destroy(): void;
}

/**
 * Bounds the memory for answers that clients do not read. Above the bound, destroys the connection
 * whose client has read nothing for the longest time; its call is settled already.
 */
export class UnreadAnswers {
  readonly #bounds: { readonly unreadBytesMax: number; readonly unreadBytesMaxPerKey: number };
  /** Ordered by the time at which the client last read bytes of the answer, longest ago first. */
  readonly #waiting = new Set<UnreadAnswer>();
  readonly #bytesOf = new Map<KeyId, number>();
  #bytes = 0;

  constructor(bounds: { readonly unreadBytesMax: number; readonly unreadBytesMaxPerKey: number }) {
    this.#bounds = bounds;
  }

  /** Adds an answer and destroys others until the bounds hold. A single answer may exceed them. */
  add(answer: UnreadAnswer): void {
    this.#waiting.add(answer);
    this.#count(answer, answer.bytes);
    const { unreadBytesMax, unreadBytesMaxPerKey } = this.#bounds;
    const { keyId } = answer;
    const isOfKey = (each: UnreadAnswer): boolean => each.keyId === keyId;
    const isKeyOver = (): boolean => (this.#bytesOf.get(keyId) ?? 0) > unreadBytesMaxPerKey;
    while (isKeyOver() && this.#destroyFirst(isOfKey, answer));
    while (this.#bytes > unreadBytesMax && this.#destroyFirst(() => true, answer));
  }

  /** Call this when the client has read some bytes of the answer. */
  moved(answer: UnreadAnswer): void {
    if (this.#waiting.delete(answer)) this.#waiting.add(answer);
  }

  remove(answer: UnreadAnswer): void {
    if (this.#waiting.delete(answer)) this.#count(answer, -answer.bytes);
  }

  #destroyFirst(isMeant: (answer: UnreadAnswer) => boolean, newest: UnreadAnswer): boolean {
    for (const answer of this.#waiting) {
      if (answer === newest || !isMeant(answer)) continue;
      this.remove(answer);
      answer.destroy();
      return true;
    }
    return false;
  }

  #count({ keyId }: UnreadAnswer, bytes: number): void {
    this.#bytes += bytes;
    const ofKey = (this.#bytesOf.get(keyId) ?? 0) + bytes;
    if (ofKey === 0) this.#bytesOf.delete(keyId);
    else this.#bytesOf.set(keyId, ofKey);
  }
}

export interface ArrivingBody {
  /** The organization that sends the body or, for the console, the client's IP network. */
  readonly owner: string;
  bytes: number;
  refuse(value: Refusal): void;
}

/**
 * Bounds the memory for request bodies that have not arrived whole: a client can begin a body on
 * each connection and finish none. Above the bound, refuses a body of the owner with the most
 * bytes: the one that has waited longest for its next byte.
 */
export class ArrivingBodies {
  readonly #bytesMax: number;
  /** The bodies of each owner; the one that has waited longest for its next byte comes first. */
  readonly #bodies = new Map<string, Set<ArrivingBody>>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  grew(body: ArrivingBody, bytes: number): void {
    const ofOwner = this.#bodies.get(body.owner) ?? new Set();
    this.#bodies.set(body.owner, ofOwner);
    ofOwner.delete(body);
    ofOwner.add(body);
    body.bytes += bytes;
    this.#bytes += bytes;
    while (this.#bytes > this.#bytesMax) this.#refuseOne();
  }

  /** Call this when the body is whole, refused or given up. May be repeated. */
  ended(body: ArrivingBody): void {
    const ofOwner = this.#bodies.get(body.owner);
    if (ofOwner?.delete(body) !== true) return;
    this.#bytes -= body.bytes;
    if (ofOwner.size === 0) this.#bodies.delete(body.owner);
  }

  #refuseOne(): void {
    let most = 0;
    let found: ArrivingBody | undefined;
    for (const ofOwner of this.#bodies.values()) {
      const [first] = ofOwner;
      const bytes = [...ofOwner].reduce((sum, body) => sum + body.bytes, 0);
      if (bytes > most) [most, found] = [bytes, first];
    }
    assert(found !== undefined, "bytes that are counted belong to a body");
    this.ended(found);
    found.refuse(TOO_MANY_BYTES);
  }
}

const TOO_MANY_BYTES: Refusal = unavailable(
  `this gateway is receiving as many bytes of request bodies as it can keep; nothing was sent and nothing charged, resend in ${JOURNAL_RETRY_AFTER_SECONDS} seconds`,
  CAPACITY,
);

/**
 * Returns a response class that closes its connection while the instance drains: the next request
 * on the connection would reach a listener that is about to close.
 */
export function drainingResponse(isDraining: () => boolean): typeof ServerResponse {
  return class DrainingResponse<Request extends IncomingMessage> extends ServerResponse<Request> {
    override writeHead(...args: unknown[]): this {
      if (isDraining()) this.shouldKeepAlive = false;
      return super.writeHead(...(args as Parameters<ServerResponse["writeHead"]>));
    }
  };
}
