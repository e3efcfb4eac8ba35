import type { Server } from "node:http";
import { hostname } from "node:os";

import { openAuthenticator } from "../accounts/authenticate.ts";
import type { CatalogHolder } from "../catalog/catalog-holder.ts";
import { ClientAddresses } from "../core/client-address.ts";
import { internalConnectionsMax } from "../core/constants.ts";
import type { Clock } from "../core/time.ts";
import { callInProcess } from "../call/in-process.ts";
import { refuseBeforeBody, refuseCall } from "../call/refuse-call.ts";
import { Readiness } from "../http/readiness.ts";
import type { CallPorts } from "../call/ports.ts";
import type { VideoReadDeps } from "../videos/serve-video.ts";
import type { VideoMetrics } from "../videos/video-metrics.ts";
import { CLIENT_TIMEOUTS } from "../http/client-timeouts.ts";
import { drainingResponse } from "../http/draining.ts";
import { gatewayRoutes } from "../http/gateway-routes.ts";
import {
  createGatewayServer,
  serveKnownCaller,
  type GatewayServerOptions,
} from "../http/gateway-server.ts";
import { metricsRegistry } from "../http/metrics-text.ts";
import { createInternalServer } from "../http/internal-server.ts";
import { RequestLog } from "../http/request-log.ts";
import { openaiChat } from "../wire/openai-chat/index.ts";
import { wires as knownWires, type WireTable } from "../wire/wires.ts";
import { openLedger } from "../ledger/open-ledger.ts";
import { chatOn } from "../modality/chat/index.ts";
import { openConsole, prepareConsole, type ConsoleOptions } from "./open-console.ts";
import { openLimits } from "./open-limits.ts";
import { openServing, prepareServing } from "./open-serving.ts";
import { openVideos } from "./open-videos.ts";
import { closeNow, drain, finishRequests } from "./shut-down.ts";

export interface FeatureOptions extends ConsoleOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What clients and providers may speak. Default: the wires of the program. */
  readonly wires?: WireTable;
}

/** The program, put together: its three servers do not listen yet. */
export interface OpenedFeatures {
  readonly servers: {
    readonly gateway: Server;
    readonly console: Server;
    readonly internal: Server;
  };
  /** Base addresses; filled in by who opens the listeners. */
  readonly addresses: { gatewayUrl: string; consoleUrl: string };
  /** Begins what goes on by itself, once the listeners are open. */
  start(): void;
  makeClaimLink(email?: string): Promise<string | undefined>;
  /** Lets running requests finish within the grace time, settles, closes. */
  close(): Promise<void>;
}

/** Puts every room together over one catalog. */
export async function openFeatures(
  options: FeatureOptions,
  holder: CatalogHolder,
): Promise<OpenedFeatures> {
  const { config, clock, log, backend } = options;
  const addresses = { gatewayUrl: "", consoleUrl: "" };
  const known = {
    consoleUrl: () => addresses.consoleUrl,
    gatewayUrl: () => config.gatewayUrl || addresses.gatewayUrl,
  };
  const prepared = prepareServing(options);
  const preparedConsole = await prepareConsole(options, known);
  const limits = await openLimits({ ...options, catalog: holder });
  const ledger = await openLedger({
    store: backend.ledgerBatchStore,
    clock,
    log,
    instanceName: hostname(),
  }).catch(async (fault: unknown) => {
    limits.close();
    await preparedConsole.close();
    throw fault;
  });
  const serving = openServing(options, { ...prepared, catalog: holder, ledger, limits });
  const { serve } = serving;
  const videos = openVideos(options, serve);
  const isLeaseHeld = (): boolean => ledger.healthy;
  const readiness = new Readiness({ clock, isLeaseHeld, pingDatabase: () => backend.ping() });
  const walk = gatewayServerOptions(options, { serve, videos, holder, readiness });
  await backend.accountNotices.start((orgId) => {
    for (const each of [walk.authenticator, serve.usage, serve.refusals]) each.forget(orgId);
  });
  const gateway = createGatewayServer(walk);
  const chat = chatOn(openaiChat, options.wires ?? knownWires);
  const internal = openInternal(serve, videos.videoMetrics, readiness);
  const console = await openConsole(options, {
    ...preparedConsole,
    ...known,
    catalog: holder,
    serve,
    chat: (request) => callInProcess({ ...walk, ports: serve }, chat, request),
    serverResponse: drainingResponse(() => readiness.isDraining),
    playground: (request, response, call) => serveKnownCaller(walk, { request, response }, call),
  });
  console.server.maxConnections = config.maxConnections;
  return {
    servers: { gateway, console: console.server, internal },
    addresses,
    start: () => {
      readiness.serve();
      videos.poller.start();
      console.start();
    },
    makeClaimLink: (email) => console.makeClaimLink(email),
    close: async () => {
      await drain(readiness, config.shutdownDelayMs);
      // First: nobody waits for a look at a job any more, and looks under way are given back.
      const pollerClosed = videos.poller.close();
      const searchesEnded = console.endSearches();
      // The playground lets calls in as well.
      await finishRequests([gateway, console.server], serve, config.shutdownGraceMs);
      for (const server of [gateway, console.server, internal]) closeNow(server);
      await Promise.all([pollerClosed, searchesEnded, console.close()]);
      serving.close();
      await serve.upstream.close();
      await ledger.shutDown();
      limits.close();
      readiness.close();
    },
  };
}

/** The listener of probes and metrics; no client is slowed down by it. */
function openInternal(serve: CallPorts, videos: VideoMetrics, readiness: Readiness): Server {
  const registry = metricsRegistry(serve.metrics, videos, {
    drains: () => serve.drains.active,
    instanceState: () => readiness.state,
  });
  const internal = createInternalServer({ registry, readiness });
  internal.maxConnections = internalConnectionsMax;
  return internal;
}

/** What the gateway's walk goes by: keys, routes, log. */
function gatewayServerOptions(
  { config, clock, log, backend, wires }: FeatureOptions,
  parts: {
    readonly serve: CallPorts;
    readonly videos: VideoReadDeps;
    readonly holder: CatalogHolder;
    readonly readiness: Readiness;
  },
): GatewayServerOptions {
  const { serve, videos, holder, readiness } = parts;
  const stored = {
    catalog: holder,
    records: backend.recordStore,
    rules: backend.rulesStore,
    limitDefaults: config,
    videos,
  };
  return {
    clock,
    deadlines: serve.deadlines,
    clientTimeouts: CLIENT_TIMEOUTS,
    connectionsMax: config.maxConnections,
    clientAddresses: new ClientAddresses(config.trustedProxies),
    authenticator: openAuthenticator({
      keyStore: backend.keyStore,
      clock,
      cacheMs: config.keyCacheMs,
      onStoreFault: oncePerSecond(clock, (fault) =>
        log.warn({ err: fault }, "the key store does not answer"),
      ),
    }),
    routes: gatewayRoutes(serve, stored, wires),
    metrics: serve.metrics,
    log: new RequestLog(log),
    refuseBeforeBody: (exchange) => refuseBeforeBody(serve, exchange),
    refuseUnread: (exchange, refusal) => refuseCall(serve, exchange, { refusal }),
    readiness,
  };
}

/** A store that is down fails every request: one line a second says it. */
function oncePerSecond(clock: Clock, report: (fault: unknown) => void): (fault: unknown) => void {
  let nextMs = 0;
  return (fault) => {
    const nowMs = clock.monotonicMs();
    if (nowMs < nextMs) return;
    nextMs = nowMs + 1_000;
    report(fault);
  };
}
