import type { LookupFunction, Socket } from "node:net";
import type { SecureContext } from "node:tls";

import { buildConnector, type Dispatcher, EnvHttpProxyAgent, Pool } from "undici";

import { ForeignNames, guardedLookup, rememberedNames } from "./address-guard.ts";
import { followSockets, PassingHandler, type SentBodies } from "./sent-bodies.ts";

export interface Outbound {
  readonly idleMs: number;
  /** Comma-separated hosts that are reached without the proxy. */
  readonly noProxy: string;
  readonly all: OutboundRoute;
  /** Routes of individual providers, by provider id. All other providers use the route `all`. */
  readonly byProvider: ReadonlyMap<string, OutboundRoute>;
}

export interface OutboundRoute {
  /** URL of the proxy for `https:` addresses; empty: no proxy is used. */
  readonly proxy: string;
  /** Undefined: the default authorities and no client certificate. */
  readonly secureContext?: SecureContext | undefined;
  /** The authorities alone, for the proxy and for origins other than the provider's. */
  readonly trustOnly?: SecureContext | undefined;
}

const IDLE_MS = 4_000;
const CONNECT_TIMEOUT_MS = 10_000;
const CONNECTIONS_PER_ORIGIN_MAX = 4_096;

const STRAIGHT: Outbound = {
  idleMs: IDLE_MS,
  noProxy: "",
  all: { proxy: "" },
  byProvider: new Map(),
};

interface Target {
  readonly providerId: string;
  readonly origin: string;
}

type Connect = buildConnector.BuildOptions & { readonly lookup?: LookupFunction };

/** Opens connections to providers: pools of kept-alive ones, and new ones for a single request. */
export class ProviderConnections {
  readonly #bodies: SentBodies;
  readonly #outbound: Outbound;
  readonly #requests = new KeptConnections();
  readonly #pools = new Map<OutboundRoute, Map<string, Dispatcher>>();
  readonly #lookup: LookupFunction;
  /** Looks up host names that come from providers' answers, such as the targets of redirects. */
  readonly #foreignLookup: LookupFunction;

  constructor(options: {
    readonly bodies: SentBodies;
    readonly allowPrivate: boolean;
    readonly outbound: Outbound | undefined;
  }) {
    const { bodies, allowPrivate, outbound = STRAIGHT } = options;
    this.#bodies = bodies;
    this.#outbound = outbound;
    this.#lookup = guardedLookup(rememberedNames(), allowPrivate);
    this.#foreignLookup = guardedLookup((name) => new ForeignNames().find(name), allowPrivate);
  }

  kept({ providerId, origin }: Target): Dispatcher {
    const route = this.#findRoute(providerId);
    let pools = this.#pools.get(route);
    if (pools === undefined) this.#pools.set(route, (pools = new Map()));
    let pool = pools.get(origin);
    if (pool === undefined) pools.set(origin, (pool = this.#open(origin, route, this.#lookup)));
    return pool;
  }

  /**
   * Returns a handler for one request. A kept connection may end before the first byte of an
   * answer, most likely because the provider closed it before it saw the request. Then `sendAgain`
   * is called, at most once, and no failure is reported. It is not called if the client has left,
   * because the answer would cost money and reach no one.
   */
  handler(handler: KeptHandler, sendAgain: () => void): Dispatcher.DispatchHandler {
    return new KeptRequest(handler, sendAgain, this.#requests);
  }

  /** Sends one request to a provider on a new connection, which is closed after the answer. */
  anew({ providerId, origin }: Target, send: (dispatcher: Dispatcher) => void): void {
    once(this.#open(origin, this.#findRoute(providerId), this.#lookup), send);
  }

  /** Sends to an origin other than the provider's, so without the client certificate. */
  elsewhere(origin: string, send: (dispatcher: Dispatcher) => void): void {
    const { proxy, trustOnly } = this.#outbound.all;
    const route = { proxy, secureContext: trustOnly, trustOnly };
    once(this.#open(origin, route, this.#foreignLookup), send);
  }

  async close(): Promise<void> {
    const pools = [...this.#pools.values()].flatMap((each) => [...each.values()]);
    await Promise.all(pools.map((pool) => pool.destroy()));
  }

  #findRoute(providerId: string): OutboundRoute {
    return this.#outbound.byProvider.get(providerId) ?? this.#outbound.all;
  }

  #open(origin: string, route: OutboundRoute, lookup: LookupFunction): Dispatcher {
    const { idleMs, noProxy } = this.#outbound;
    const { proxy, secureContext, trustOnly } = route;
    const connect: Connect = {
      timeout: CONNECT_TIMEOUT_MS,
      ...(secureContext && { secureContext }),
    };
    const options = {
      connections: CONNECTIONS_PER_ORIGIN_MAX,
      pipelining: 1,
      keepAliveTimeout: idleMs,
      // The provider's `Keep-Alive` header may shorten the idle time, but never extend it.
      keepAliveMaxTimeout: idleMs,
    };
    const pooled = (to: string | URL, connector: buildConnector.connector): Pool => {
      const failing = failAtOnce(connector);
      const followed = followSockets(failing, (socket) => this.#requests.follow(socket));
      return new Pool(to, { ...options, connect: this.#bodies.connector(followed) });
    };
    if (proxy === "") return pooled(origin, buildConnector({ ...connect, lookup }));
    return new EnvHttpProxyAgent({
      ...options,
      // If `httpProxy` were absent, undici would read the proxy from the environment.
      httpProxy: "",
      httpsProxy: proxy,
      noProxy,
      connect: buildConnector({ ...connect, lookup }),
      requestTls: connect,
      proxyTls: { timeout: CONNECT_TIMEOUT_MS, ...(trustOnly && { secureContext: trustOnly }) },
      factory: (to, { connect: connector }: Pool.Options) =>
        pooled(to, connector as buildConnector.connector),
    });
  }
}

/** After a fault with such a code, undici connects again without end and fails no request. */
const RETRIED_CODES: ReadonlySet<unknown> = new Set(["UND_ERR_SOCKET", "UND_ERR_INFO"]);

/** Wraps a connector: a proxy that ends the connection without a tunnel then fails the request. */
function failAtOnce(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...outcome) => {
      const [cause] = outcome;
      const isRetried = cause !== null && "code" in cause && RETRIED_CODES.has(cause.code);
      if (!isRetried) return callback(...outcome);
      const fault = new Error("the proxy ended the connection", { cause });
      callback(Object.assign(fault, { code: "ECONNRESET" }), null);
    });
}

function once(dispatcher: Dispatcher, send: (dispatcher: Dispatcher) => void): void {
  send(dispatcher);
  // `close` waits until the answer has ended, so it does not cut the request.
  dispatcher.close().catch(() => undefined);
}

const ENDED_CODES: ReadonlySet<unknown> = new Set(["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"]);

export type KeptHandler = Dispatcher.DispatchHandler & {
  /** True if no client waits for the answer any more. */
  readonly isUnwanted?: boolean;
};

interface Connection {
  requests: number;
  /** True if a byte arrived after the latest request was sent. */
  hasRead: boolean;
}

/** Tracks for every connection to a provider whether it has carried a request before. */
class KeptConnections {
  /** The request whose head is written next. */
  starting: KeptRequest | undefined;

  follow(socket: Socket): void {
    const connection: Connection = { requests: 0, hasRead: false };
    const write = socket.write.bind(socket);
    const read = socket.read.bind(socket);
    Object.assign(socket, {
      // undici calls `onRequestStart` right before it writes the request's head.
      write: (...args: Parameters<typeof write>) => {
        this.starting?.startsOn(connection);
        this.starting = undefined;
        return write(...args);
      },
      // `socket.bytesRead` would also count the TLS alert that a server sends when it closes.
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
  readonly #connections: KeptConnections;
  #connection: Connection | undefined;

  constructor(handler: KeptHandler, sendAgain: () => void, connections: KeptConnections) {
    super(handler);
    this.#handler = handler;
    this.#sendAgain = sendAgain;
    this.#connections = connections;
  }

  startsOn(connection: Connection): void {
    this.#connection = connection.requests > 0 ? connection : undefined;
    connection.requests += 1;
    connection.hasRead = false;
  }

  override onRequestStart(...start: Parameters<PassingHandler["onRequestStart"]>): void {
    this.#connections.starting = this;
    super.onRequestStart(...start);
  }

  override onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    this.body?.requestEnded();
    const isUnanswered = this.#connection?.hasRead === false;
    const isOver = "code" in error && ENDED_CODES.has(error.code);
    if (isUnanswered && isOver && this.#handler.isUnwanted !== true) this.#sendAgain();
    else super.onResponseError(controller, error);
  }
}
