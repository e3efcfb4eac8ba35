import type { Server } from "node:http";
import { hostname } from "node:os";

import { openAuthenticator } from "../accounts/authenticate.ts";
import type { CatalogHolder } from "../catalog/catalog-holder.ts";
import { ClientAddresses } from "../core/client-address.ts";
import { internalConnectionsMax } from "../core/constants.ts";
import type { Clock } from "../core/time.ts";
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
import { openLedger } from "../ledger/open-ledger.ts";
import { openConsole, prepareConsole, type ConsoleOptions } from "./open-console.ts";
import { openLimits } from "./open-limits.ts";
import { openServing, prepareServing } from "./open-serving.ts";
import { openVideos } from "./open-videos.ts";
import { closeNow, drain, finishRequests } from "./shut-down.ts";

export interface RoomOptions extends ConsoleOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The program, put together: its three servers do not listen yet. */
export interface OpenedRooms {
  readonly servers: {
    readonly gateway: Server;
    readonly console: Server;
    readonly internal: Server;
  };
  /** Base addresses; filled in by who opens the listeners. */
  readonly addresses: { gatewayUrl: string; consoleUrl: string };
  /** Starts background work, once the listeners are open. */
  start(): void;
  makeClaimLink(email?: string): Promise<string | undefined>;
  /** Lets running requests finish within the grace time, settles, closes. */
  close(): Promise<void>;
}

/** Composes all parts over one catalog. */
export async function openRooms(options: RoomOptions, holder: CatalogHolder): Promise<OpenedRooms> {
  const { config, clock, log, backend } = options;
  const addresses = { gatewayUrl: "", consoleUrl: "" };
  const known = {
    consoleUrl: () => addresses.consoleUrl,
    gatewayUrl: () => config.gatewayUrl || addresses.gatewayUrl,
    listeningUrl: () => addresses.gatewayUrl,
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
  const internal = openInternal(serve, videos.videoMetrics, readiness);
  const console = await openConsole(options, {
    ...preparedConsole,
    ...known,
    catalog: holder,
    serve,
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
      // First: no request waits for a poll any more, and the leases of running polls are released.
      const pollerClosed = videos.poller.close();
      // The playground lets calls in as well.
      await finishRequests([gateway, console.server], serve, config.shutdownGraceMs);
      for (const server of [gateway, console.server, internal]) closeNow(server);
      await Promise.all([pollerClosed, console.close()]);
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

/** What the gateway's requests need: keys, routes, log. */
function gatewayServerOptions(
  { config, clock, log, backend }: RoomOptions,
  parts: {
    readonly serve: CallPorts;
    readonly videos: VideoReadDeps;
    readonly holder: CatalogHolder;
    readonly readiness: Readiness;
  },
): GatewayServerOptions {
  const { serve, videos, holder, readiness } = parts;
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
    routes: gatewayRoutes(serve, {
      catalog: holder,
      records: backend.recordStore,
      rules: backend.rulesStore,
      limitDefaults: config,
      videos,
    }),
    metrics: serve.metrics,
    log: new RequestLog(log),
    refuseBeforeBody: (exchange) => refuseBeforeBody(serve, exchange),
    refuseUnread: (exchange, refusal) => refuseCall(serve, exchange, { refusal }),
    readiness,
  };
}

/** A store that is down fails every request: one line a second says it. */
function oncePerSecond(clock: Clock, tell: (fault: unknown) => void): (fault: unknown) => void {
  let nextMs = 0;
  return (fault) => {
    const nowMs = clock.monotonicMs();
    if (nowMs < nextMs) return;
    nextMs = nowMs + 1_000;
    tell(fault);
  };
}
