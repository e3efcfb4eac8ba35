import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

import type { Authenticator, AuthOutcome } from "../accounts/authenticate.ts";
import type { Principal } from "../accounts/principal.ts";
import { reportFault } from "../call/refuse.ts";
import type { GatewayMetrics } from "../call/metrics.ts";
import { reportEnded, type RequestLog } from "../call/request-log.ts";
import type { Tracing } from "../call/trace.ts";
import {
  type BufferPool,
  HEADER_BYTES_MAX,
  JOURNAL_RETRY_AFTER_SECONDS,
  type LentBuffer,
  createRequestId,
  PIPELINED_REQUESTS_MAX,
  refusal,
  type Refusal,
} from "../../kernel/index.ts";
import { findAmbiguity, readBody } from "./read-body.ts";
import { answerClientErrors, type OpenRequest } from "./client-errors.ts";
import {
  type ArrivingBodies,
  ConnectionBound,
  drainingResponse,
  PipelineBound,
} from "./connections.ts";
import { baseHeaders, type HeaderList, HEADERS, sameOriginHeaders } from "./response-headers.ts";
import { type ExchangeServer, HttpExchange } from "./http-exchange.ts";
import type { Readiness } from "./readiness.ts";
import { REMOVED_PATHS, type Route, type RouteTable } from "./route-table.ts";

export interface GatewayServerOptions extends ExchangeServer {
  /** The most open connections of this process; `ConnectionBound` refuses or closes others. */
  readonly connectionsMax: number;
  readonly arriving: ArrivingBodies;
  readonly authenticator: Authenticator;
  readonly routes: RouteTable;
  readonly metrics: GatewayMetrics;
  readonly log: RequestLog;
  readonly tracing?: Tracing | undefined;
  readonly bodyPool: BufferPool;
  /** Refuses a caller before the body is read; false if the request is admitted. */
  readonly refuseBeforeBody: (exchange: HttpExchange) => boolean;
  /** Called when a request ends that `refuseBeforeBody` has admitted. */
  readonly onEnded: (exchange: HttpExchange) => void;
  readonly refuseUnread: (exchange: HttpExchange, value: Refusal) => void;
  readonly readiness: Pick<Readiness, "isReady" | "isDraining">;
}

const KEEP_ALIVE_MS = 65_000;
/**
 * Without credentials, `*` allows every header but `authorization` (Fetch standard), so the
 * requested headers need not be repeated.
 */
const PREFLIGHT_HEADERS = "authorization, content-type, x-api-key, *";
const PREFLIGHT_SECONDS = "86400";
const PROBE_PATHS: ReadonlySet<string> = new Set(["/livez", "/healthz", "/readyz"]);

/** Creates the gateway's listener: a strict parser, with bounds on time, size and connections. */
export function createGatewayServer(options: GatewayServerOptions): Server {
  const { headersMs, bodyMs, lingerMs, checkEveryMs } = options.clientTimeouts;
  const pipelines = new PipelineBound(PIPELINED_REQUESTS_MAX);
  const server = createServer(
    {
      ServerResponse: drainingResponse(() => options.readiness.isDraining),
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: headersMs,
      requestTimeout: bodyMs,
      connectionsCheckingInterval: checkEveryMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      insecureHTTPParser: false,
      // `findAmbiguity` refuses a request without a host, with a body that Node would not send.
      requireHostHeader: false,
      noDelay: true,
    },
    (request, response) => {
      if (!pipelines.admits(request, response)) return;
      const walk = new RequestWalk(options, request, response);
      lastWalks.set(request.socket, walk);
      const refused = bound.findRefusal(request.socket) ?? findAmbiguity(request);
      if (refused === undefined) walk.start();
      else walk.refuseLast(refused);
    },
  );
  // Node would answer any `expect` header but 100-continue with a bare 417, without a request id
  // and even over the connection bound. A server may ignore the header (RFC 9110, section 10.1.1).
  server.on("checkExpectation", (...exchange) => server.emit("request", ...exchange));
  const lastWalks = new WeakMap<Duplex, RequestWalk>();
  const bound = new ConnectionBound(server, { max: options.connectionsMax, lingerMs });
  const openRequestOf = (socket: Duplex): OpenRequest | undefined => {
    const walk = lastWalks.get(socket);
    return walk?.isOver === true ? undefined : walk;
  };
  answerClientErrors(server, { ...options, lingerMs, openRequestOf });
  return server;
}

/** A call whose caller another listener has authenticated. */
export interface KnownCall {
  readonly principal: Principal;
  /** Path and query, as a client of the gateway would send them. */
  readonly url: string;
}

/** Serves a request whose caller another listener has identified, for the console's playground. */
export function serveKnownCaller(
  options: GatewayServerOptions,
  socket: { readonly request: IncomingMessage; readonly response: ServerResponse },
  call: KnownCall,
): void {
  new RequestWalk(options, socket.request, socket.response, call).start();
}

/** Serves one request: checks path, key and route in this order, reads the body, runs the call. */
class RequestWalk implements OpenRequest {
  readonly #options: GatewayServerOptions;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #path: string;
  readonly #queryText: string;
  readonly #exchange: HttpExchange;
  readonly #startedMs: number;
  readonly #known: { readonly route: Route; readonly id?: string } | undefined;
  readonly #caller: Principal | undefined;
  readonly #baseHeaders: (requestId: string) => HeaderList;
  #isReading = false;
  #isLetIn = false;

  constructor(
    options: GatewayServerOptions,
    request: IncomingMessage,
    response: ServerResponse,
    call?: KnownCall,
  ) {
    this.#options = options;
    this.#request = request;
    this.#response = response;
    this.#caller = call?.principal;
    this.#baseHeaders = call === undefined ? baseHeaders : sameOriginHeaders;
    const url = call?.url ?? request.url ?? "/";
    const queryAt = url.indexOf("?");
    this.#path = queryAt === -1 ? url : url.slice(0, queryAt);
    this.#queryText = queryAt === -1 ? "" : url.slice(queryAt + 1);
    this.#startedMs = options.clock.monotonicMs();
    this.#known = options.routes.find(request.method ?? "GET", this.#path);
    const requestId = createRequestId(options.clock.nowMs());
    this.#exchange = new HttpExchange({
      server: options,
      request,
      response,
      requestId,
      route: this.#known?.route.path ?? "unknown",
      trace:
        this.#known &&
        options.tracing?.begin({
          requestId,
          method: request.method ?? "GET",
          route: this.#known.route.path,
          startedMs: this.#startedMs,
        }),
      errorWire: options.routes.wires.ofPath(this.#path),
      startedMs: this.#startedMs,
      baseHeaders: this.#baseHeaders,
      onClosed: () => this.#closed(),
    });
    options.metrics.inFlight += 1;
  }

  start(): void {
    if (this.#caller !== undefined) return this.#accept(this.#caller);
    const method = this.#request.method ?? "GET";
    if (method === "OPTIONS") return this.#preflight();
    if ((method === "GET" || method === "HEAD") && this.#isProbe(method)) return;
    if (REMOVED_PATHS.has(this.#path))
      return this.#exchange.refuse(noSuchRoute(method, this.#path));
    const { authorization } = this.#request.headers;
    const outcome = this.#options.authenticator.authenticate(
      authorization,
      this.#exchange.header("x-api-key"),
    );
    if (outcome instanceof Promise) {
      outcome.then(
        (settled) => this.#authenticated(settled),
        (fault: unknown) => this.#crashed(fault),
      );
    } else {
      this.#authenticated(outcome);
    }
  }

  get isAnswered(): boolean {
    return this.#exchange.isAnswered;
  }

  get isOver(): boolean {
    return this.#response.closed;
  }

  refuseUnread(value: Refusal): boolean {
    if (!this.#isReading) return false;
    this.#exchange.closeAfterRefusal(this.#options.clientTimeouts.lingerMs);
    this.#options.refuseUnread(this.#exchange, value);
    return true;
  }

  refuseLast(value: Refusal): void {
    this.#exchange.closeAfterRefusal(this.#options.clientTimeouts.lingerMs);
    this.#exchange.refuse(value);
  }

  #authenticated(outcome: AuthOutcome): void {
    if (outcome.ok) this.#accept(outcome.principal);
    else this.#exchange.refuse(outcome.refusal);
  }

  #accept(principal: Principal): void {
    // A client that left while its key was looked up has freed its places already.
    if (this.#exchange.gone) return;
    const known = this.#known;
    if (known === undefined) {
      return this.#exchange.refuse(noSuchRoute(this.#request.method ?? "GET", this.#path));
    }
    this.#exchange.accept(principal);
    if (known.route.method === "GET") return this.#serve(known);
    if (this.#options.refuseBeforeBody(this.#exchange)) return;
    this.#isLetIn = true;
    this.#isReading = true;
    const { bodyPool: pool, arriving, clock } = this.#options;
    const { orgId } = principal;
    const readFromMs = clock.monotonicMs();
    const bounds = { bytesMax: known.route.bodyBytesMax, pool, arriving, orgId };
    readBody(this.#request, bounds, (read) => {
      // More of a body can arrive while the connection of its refused request is being closed.
      if (this.#exchange.isAnswered) {
        if (read.ok) read.loan?.giveBack();
        return;
      }
      this.#isReading = false;
      this.#exchange.ownTimeFromMs += clock.monotonicMs() - readFromMs;
      if (!read.ok) return this.#options.refuseUnread(this.#exchange, read.refusal);
      this.#exchange.body = read.body;
      this.#serve(known, read.loan);
    });
  }

  /** Gives the body's buffer back only on success: after a fault, some code may still read it. */
  #serve(known: { readonly route: Route; readonly id?: string }, loan?: LentBuffer): void {
    const { trace } = this.#exchange;
    trace?.serving();
    known.route.serve(this.#exchange, { queryText: this.#queryText, id: known.id }).then(
      () => {
        trace?.served();
        this.#exchange.body = NO_BODY;
        loan?.giveBack();
      },
      (fault: unknown) => {
        loan?.leave();
        this.#crashed(fault);
        trace?.served();
      },
    );
  }

  #crashed(fault: unknown): void {
    const value = reportFault(this.#options.log, this.#exchange.requestId, fault);
    if (this.#exchange.committed) this.#response.destroy();
    else this.#exchange.refuse(value);
  }

  #preflight(): void {
    const headers = [
      ...this.#baseHeaders(this.#exchange.requestId),
      "access-control-allow-methods",
      "GET, POST, HEAD, OPTIONS",
      "access-control-allow-headers",
      PREFLIGHT_HEADERS,
      "access-control-max-age",
      PREFLIGHT_SECONDS,
      "content-length",
      "0",
    ];
    this.#response.writeHead(204, headers).end();
  }

  #isProbe(method: "GET" | "HEAD"): boolean {
    const isRoot = this.#path === "/" && method === "HEAD";
    if (!isRoot && !PROBE_PATHS.has(this.#path)) return false;
    const up = this.#path !== "/readyz" || this.#options.readiness.isReady;
    const body = up ? "ok\n" : "not ready\n";
    const headers = [
      ...this.#baseHeaders(this.#exchange.requestId),
      "content-type",
      "text/plain",
      "content-length",
      String(body.length),
    ];
    if (!up) headers.push(HEADERS.retryAfter.name, String(JOURNAL_RETRY_AFTER_SECONDS));
    this.#response.writeHead(up ? 200 : 503, headers).end(method === "HEAD" ? undefined : body);
    return true;
  }

  #closed(): void {
    if (this.#isLetIn) this.#options.onEnded(this.#exchange);
    reportEnded(this.#options, this.#exchange, {
      method: this.#request.method ?? "GET",
      status: this.#exchange.committed ? this.#response.statusCode : 0,
      startedMs: this.#startedMs,
    });
  }
}

const NO_BODY = Buffer.alloc(0);

function noSuchRoute(method: string, path: string): Refusal {
  // Some clients call `/v1/responses` by default and can be configured for the supported route.
  const next =
    path === "/v1/responses"
      ? "use POST /v1/chat/completions (in your client, choose the chat completions API)"
      : "the documentation lists the routes";
  const name = JSON.stringify(path.slice(0, 256));
  return refusal("not_found", `there is no route ${method} ${name}; ${next}`);
}
