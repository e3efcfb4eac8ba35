import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";

import { fastify, type FastifyInstance, type FastifyReply } from "fastify";

import {
  asText,
  createRequestId,
  HEADER_BYTES_MAX,
  REQUEST_BODY_TIMEOUT_MS,
  REQUEST_HEADERS_TIMEOUT_MS,
  SMALL_BODY_BYTES_MAX,
  WRITE_IDLE_TIMEOUT_MS,
} from "../../kernel/index.ts";
import { onceClosed, PipelineBound } from "../../gateway/index.ts";
import { refuseFault, sendRefusal } from "./answer-request.ts";
import { bytesReader } from "./guard-request.ts";
import { alertLinkRoutes } from "./alert-link-routes.ts";
import { apiRoutes } from "./api-routes.ts";
import { authRoutes } from "./auth-routes.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { docsRoutes } from "./docs-routes.ts";
import { pageRoutes, refuseUnknownPath } from "./page-routes.ts";
import { playgroundRoutes } from "./playground-routes.ts";
import { securityHeaders } from "./security-headers.ts";
import { invalidField, missing } from "./console-refusal.ts";

const KEEP_ALIVE_MS = 65_000;
/** The most pipelined requests of a connection that wait for their turn. */
const PIPELINED_MAX = 500;
/** Allows an id of 200 characters to arrive percent-encoded. */
const PARAM_CHARS_MAX = 1_000;

export type ConsoleServer = Awaited<ReturnType<typeof createConsoleServer>>;

export async function createConsoleServer(deps: ConsoleDeps) {
  const app = fastify({
    logger: false,
    bodyLimit: SMALL_BODY_BYTES_MAX,
    requestTimeout: REQUEST_BODY_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: true,
    http: {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: REQUEST_HEADERS_TIMEOUT_MS,
      ServerResponse: deps.serverResponse,
    },
    genReqId: () => createRequestId(deps.clock.nowMs()),
    requestIdHeader: false,
    routerOptions: { maxParamLength: PARAM_CHARS_MAX, ignoreTrailingSlash: false },
    // No hook runs for a path that cannot be decoded, so the common headers are set here.
    frameworkErrors: (fault, request, reply) => {
      setHeaders(deps, request.id, reply);
      refuseFault(deps, fault, reply);
    },
  });
  const pipelines = new PipelineBound(PIPELINED_MAX);
  // A pipelined request waits for its turn, so that it takes nothing, such as an open file, for an
  // answer that is never sent: not every version of Node tells it that its connection has closed.
  // A request that closes the connection, as one too many does, waits until it is collected.
  app.addHook("onRequest", async (request, { raw }) => {
    if (raw.socket !== null) return;
    pipelines.admits(request.raw, raw);
    await once(raw, "socket");
  });
  app.addHook("onRequest", async (request, reply) => setHeaders(deps, request.id, reply));
  app.addHook("onSend", async (_request, { raw }) => {
    // A client that reads nothing would hold its connection forever. The timeout is set on the
    // response, since a connection has many responses and would collect a listener for each.
    raw.setTimeout(WRITE_IDLE_TIMEOUT_MS, () => raw.destroy());
  });
  app.addHook("onResponse", async (request, reply) => {
    const { method, id, routeOptions } = request;
    // The route's pattern is logged, not the address, since addresses of callbacks contain codes.
    const detail = { request_id: id, method, route: routeOptions.url ?? null };
    const status = reply.statusCode;
    const isRead = method === "GET" || method === "HEAD";
    const line = { ...detail, status, duration_ms: Math.round(reply.elapsedTime) };
    if (isRead && status < 400) deps.log.debug(line, "console request");
    else deps.log.info(line, "console request");
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", bytesReader(deps));
  app.setErrorHandler((fault, _request, reply) => refuseFault(deps, fault, reply));
  app.setNotFoundHandler((request, reply) => refuseUnknownPath(deps, request, reply));
  register(app, deps);
  await app.ready();
  let inFlight = 0;
  app.server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    inFlight += 1;
    onceClosed(request, response, () => (inFlight -= 1));
  });
  return {
    /** Created, but not listening yet. */
    server: app.server,
    /** The number of requests whose answers have not ended. */
    inFlight: () => inFlight,
    /** Closes every connection, even in the middle of a request. */
    close: async (): Promise<void> => {
      app.server.close();
      app.server.closeAllConnections();
      await app.close();
    },
  };
}

function register(app: FastifyInstance, deps: ConsoleDeps): void {
  void app.register(async (scope) => apiRoutes(scope, deps));
  void app.register(async (scope) => authRoutes(scope, deps));
  void app.register(async (scope) => alertLinkRoutes(scope, deps));
  void app.register(async (scope) => webhookRoutes(scope, deps));
  void app.register(async (scope) => playgroundRoutes(scope, deps));
  void app.register(async (scope) => docsRoutes(scope, deps));
  void app.register(async (scope) => pageRoutes(scope, deps));
}

function setHeaders(deps: ConsoleDeps, requestId: string, reply: FastifyReply): void {
  reply.headers({
    "x-request-id": requestId,
    "cache-control": "no-store",
    ...securityHeaders(deps.consoleUrl()),
  });
}

/** The route for events of the payment provider. A signature over the raw bytes proves an event. */
function webhookRoutes(app: FastifyInstance, { billing }: ConsoleDeps): void {
  app.post("/webhooks/stripe", async (request, reply) => {
    const signature = request.headers["stripe-signature"];
    const outcome = await billing.webhook({
      body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
      signature: asText(signature),
    });
    if (outcome === "bad_signature") return sendRefusal(reply, BAD_SIGNATURE);
    if (outcome === "not_configured") return sendRefusal(reply, NOT_CONFIGURED);
    return reply.send({ received: true });
  });
}

const BAD_SIGNATURE = invalidField(
  undefined,
  "stripe-signature does not match the body; check the signing secret of the webhook",
);

const NOT_CONFIGURED = missing("no payment provider is configured here");
