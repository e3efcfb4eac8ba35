import type { LookupFunction, Socket } from "node:net";
import type { SecureContext } from "node:tls";

import { buildConnector, type Dispatcher, EnvHttpProxyAgent, Pool } from "undici";

import { ForeignNames, guardedLookup, rememberedNames } from "./address-guard.ts";
import { PassingHandler, type SentBodies } from "./sent-bodies.ts";

/** The operator's settings for connections to providers. */
export interface Outbound {
  /** How long an unused connection is kept; a provider's hint can shorten it. */
  readonly idleMs: number;
  /** Hosts that are reached without a proxy, separated by commas. */
  readonly noProxy: string;
  readonly all: OutboundRoute;
  /** The routes of some providers, by id. */
  readonly byProvider: ReadonlyMap<string, OutboundRoute>;
}

export interface OutboundRoute {
  /** Address of the proxy for `https:` addresses; empty: none. */
  readonly proxy: string;
  /** Authorities and client certificate; undefined: default authorities, no certificate. */
  readonly secureContext?: SecureContext | undefined;
  /** The same authorities without the certificate: for the proxy, and for files on other hosts. */
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

/** The provider and the origin of a connection. */
interface Target {
  readonly providerId: string;
  readonly origin: string;
}

type Connect = buildConnector.BuildOptions & { readonly lookup?: LookupFunction };

/** The connections to providers: reused ones by origin, and those for one request. */
export class ProviderConnections {
  readonly #bodies: SentBodies;
  readonly #outbound: Outbound;
  readonly #requests = new KeptConnections();
  readonly #pools = new Map<OutboundRoute, Map<string, Dispatcher>>();
  readonly #lookup: LookupFunction;
  /** The look-up for addresses in providers' answers. */
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

  /** The pool of kept connections to a provider. */
  kept({ providerId, origin }: Target): Dispatcher {
    const route = this.#findRoute(providerId);
    let pools = this.#pools.get(route);
    if (pools === undefined) this.#pools.set(route, (pools = new Map()));
    let pool = pools.get(origin);
    if (pool === undefined) pools.set(origin, (pool = this.#open(origin, route, this.#lookup)));
    return pool;
  }

  /** Follows a request on reused connections; see `KeptConnections`. */
  handler(...request: Parameters<KeptConnections["handler"]>): Dispatcher.DispatchHandler {
    return this.#requests.handler(...request);
  }

  /** Dispatches one request to a provider on a new connection, closed with its answer. */
  anew({ providerId, origin }: Target, send: (dispatcher: Dispatcher) => void): void {
    once(this.#open(origin, this.#findRoute(providerId), this.#lookup), send);
  }

  /** Sends to an address that is not a provider's, without a client certificate. */
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
      // A hint of the provider shortens the time, and never extends it.
      keepAliveMaxTimeout: idleMs,
    };
    const pooled = (to: string | URL, connector: buildConnector.connector): Pool =>
      new Pool(to, {
        ...options,
        connect: this.#bodies.connector(this.#requests.connector(connector)),
      });
    if (proxy === "") return pooled(origin, buildConnector({ ...connect, lookup }));
    return new EnvHttpProxyAgent({
      ...options,
      // Empty instead of absent, so that undici does not read the environment.
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

function once(dispatcher: Dispatcher, send: (dispatcher: Dispatcher) => void): void {
  send(dispatcher);
  // Closes the dispatcher once the answer has ended.
  dispatcher.close().catch(() => undefined);
}

/** The error codes of a connection that the other side has closed. */
const ENDED_CODES: ReadonlySet<unknown> = new Set(["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"]);

/** The handler of a request's events. */
export type KeptHandler = Dispatcher.DispatchHandler & {
  /** True once nobody waits for the answer. */
  readonly isUnwanted?: boolean;
};

interface Connection {
  /** The number of requests that were sent on it. */
  requests: number;
  /** True if a byte arrived after the last one was sent. */
  hasRead: boolean;
}

/** Records for every connection to a provider whether it was used before. */
class KeptConnections {
  #starting: KeptRequest | undefined;

  /** Wraps a connector so that the requests on its sockets are followed. */
  connector(connect: buildConnector.connector): buildConnector.connector {
    return (options, callback) =>
      connect(options, (...outcome) => {
        if (outcome[0] === null) this.#follow(outcome[1]);
        callback(...outcome);
      });
  }

  /**
   * A handler for one request. `sendAgain` is called at most once, instead of reporting a failure,
   * if the request was sent on a reused connection that ended before the first byte of an answer:
   * most likely the provider had closed it before it saw the request. It is not called if the
   * client has left, because the answer would cost money and reach no one.
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
      // undici announces a request and writes its head without a pause in between.
      write: (...args: Parameters<typeof write>) => {
        this.#starting?.startsOn(connection);
        this.#starting = undefined;
        return write(...args);
      },
      // The socket's own count includes TLS records, which a server sends when it closes.
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
    this.body?.requestEnded();
    const isUnanswered = this.#connection?.hasRead === false;
    const isOver = "code" in error && ENDED_CODES.has(error.code);
    if (isUnanswered && isOver && this.#handler.isUnwanted !== true) this.#sendAgain();
    else super.onResponseError(controller, error);
  }
}
