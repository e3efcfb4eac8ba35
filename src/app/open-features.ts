import type { Server } from "node:http";
import { hostname } from "node:os";

import type { CatalogHolder } from "../catalog/index.ts";
import { chatOn, openaiChat, wires as knownWires } from "../formats/index.ts";
import {
  callInProcess,
  type CallPorts,
  CLIENT_TIMEOUTS,
  Conduct,
  createGatewayServer,
  createInternalServer,
  drainingResponse,
  gatewayRoutes,
  type GatewayServerOptions,
  openAuthenticator,
  type OpenTracing,
  openTracing,
  quoteCall,
  Readiness,
  refuseBeforeBody,
  refuseCall,
  RequestLog,
  serveKnownCaller,
  ArrivingBodies,
  UnreadAnswers,
  Verification,
  type VideoDeps,
  VideoMetrics,
  VideoPoller,
  type VideoReadDeps,
} from "../gateway/index.ts";
import {
  type BufferPool,
  ClientAddresses,
  type Clock,
  INTERNAL_CONNECTIONS_MAX,
} from "../kernel/index.ts";
import { LedgerCounts, type OpenedLedger, openLedger } from "../ledger/index.ts";
import { DisposalStack } from "./disposal-stack.ts";
import { type ConsoleOptions, openConsole, prepareConsole } from "./open-console.ts";
import { openLimits } from "./open-limits.ts";
import { openMetrics } from "./open-metrics.ts";
import { openServing, prepareServing, type ServingOptions } from "./open-serving.ts";
import { programVersion } from "./shipped-files.ts";
import { closeNow, drain, finishRequests } from "./shut-down.ts";

export interface FeatureOptions extends ConsoleOptions, ServingOptions {}

/**
 * Composes all parts around one catalog. If it fails, it closes what it has opened. The caller then
 * opens the listeners, fills in `addresses` and calls `start`.
 */
export async function openFeatures(options: FeatureOptions, holder: CatalogHolder) {
  const stack = new DisposalStack();
  try {
    return await compose(options, holder, stack);
  } catch (fault) {
    await stack.close();
    throw fault;
  }
}

async function compose(options: FeatureOptions, holder: CatalogHolder, stack: DisposalStack) {
  const { config, clock, log, backend, events } = options;
  const addresses = { gatewayUrl: "", consoleUrl: "" };
  const known = {
    consoleUrl: () => addresses.consoleUrl,
    gatewayUrl: () => config.gatewayUrl || addresses.gatewayUrl,
  };
  const prepared = prepareServing(options);
  const preparedConsole = stack.use(await prepareConsole(options, known));
  const limits = stack.use(await openLimits({ ...options, catalog: holder }));
  const counts = new LedgerCounts();
  const ledger = await joinLedger(options, counts);
  stack.defer(() => ledger.shutDown());
  const { verification, standing } = await openStanding(options, stack);
  const opened = { ...prepared, catalog: holder, ledger, limits, standing };
  const serving = openServing(options, opened);
  const { serve } = serving;
  const tracing = await openTracing({ config, clock, log, version: programVersion() });
  if (tracing !== undefined) stack.use(tracing);
  stack.defer(() => serve.upstream.close());
  stack.use(serving);
  const videos = openVideos(options, serve);
  const readiness = stack.use(buildReadiness(options, ledger));
  const parts = { ...serving, videos, holder, readiness, verification, tracing };
  const walk = gatewayServerOptions(options, parts);
  await backend.accountNotices.start((orgId) => {
    const { usage, refusals, shortfalls } = serve;
    for (const each of [walk.authenticator, usage, refusals, shortfalls]) each.forget(orgId);
  });
  const gateway = createGatewayServer(walk);
  const chat = chatOn(openaiChat, options.wires ?? knownWires);
  const watched = { counts, limits, events, ledger };
  const metrics = stack.use(openMetrics({ ...options, ...parts, ...watched }));
  await metrics.exposition.warmUp();
  const internal = createInternalServer({ metrics: metrics.exposition, readiness });
  internal.maxConnections = INTERNAL_CONNECTIONS_MAX;
  const console = await openConsole(options, {
    ...serving,
    ...watched,
    ...preparedConsole,
    ...known,
    catalog: holder,
    verification,
    vault: prepared.vault,
    chat: (request) => callInProcess({ ...walk, ports: serve }, chat, request),
    quote: (principal, body) => quoteCall(serve, chat, { principal, body }),
    serverResponse: drainingResponse(() => readiness.isDraining),
    playground: (request, response, call) => serveKnownCaller(walk, { request, response }, call),
  });
  stack.use(console);
  console.server.maxConnections = config.maxConnections;
  const servers = { gateway, console: console.server, internal };
  stack.defer(() => stopServing(options, { servers, serve, readiness, videos, console }));
  return {
    servers,
    addresses,
    start: (): void => {
      readiness.serve();
      videos.poller.start();
      metrics.start();
      console.start();
    },
    makeClaimLink: (email?: string) => console.makeClaimLink(email),
    instanceId: ledger.instanceId,
    close: () => stack.close(),
  };
}

function joinLedger(options: FeatureOptions, counts: LedgerCounts): Promise<OpenedLedger> {
  const { config, clock, log, backend } = options;
  const store = backend.ledgerBatchStore;
  const onGoneBack = config.booksGoneBack === "go_on" ? "go_on" : "stop";
  return openLedger({ store, clock, log, instanceName: hostname(), counts, onGoneBack });
}

function buildReadiness(options: FeatureOptions, ledger: OpenedLedger): Readiness {
  const { config, inForce, clock, backend } = options;
  return new Readiness({
    clock,
    isLeaseHeld: () => ledger.healthy,
    isStopped: () => config.booksGoneBack !== "go_on" && ledger.hasGoneBack,
    pingDatabase: () => backend.ping(),
    waitingSettings: () => inForce.waiting,
  });
}

/** The first step of a stop: drains, accepts no new work, and cuts what outlives the grace time. */
async function stopServing(
  { config, clock }: FeatureOptions,
  parts: {
    readonly servers: Readonly<Record<"gateway" | "console" | "internal", Server>>;
    readonly serve: CallPorts;
    readonly readiness: Readiness;
    readonly videos: ReturnType<typeof openVideos>;
    readonly console: Awaited<ReturnType<typeof openConsole>>;
  },
): Promise<void> {
  const { servers, serve, readiness, videos, console } = parts;
  await drain(readiness, config.shutdownDelayMs, clock);
  // The poller of video jobs ends first: its leases are released, and no request waits for a poll.
  const pollerClosed = videos.poller.close();
  const searchesEnded = console.endSearches();
  await finishRequests([servers.gateway, servers.console], config.shutdownGraceMs, {
    ...serve,
    inFlight: () => serve.metrics.inFlight + serve.drains.active + console.inFlight(),
  });
  for (const server of Object.values(servers)) closeNow(server);
  await Promise.all([pollerClosed, searchesEnded]);
}

function gatewayServerOptions(
  { config, clock, log, backend, wires }: FeatureOptions,
  parts: {
    readonly serve: CallPorts;
    readonly bodyPool: BufferPool;
    readonly videos: VideoReadDeps;
    readonly holder: CatalogHolder;
    readonly readiness: Readiness;
    readonly verification: Verification;
    readonly tracing: OpenTracing | undefined;
  },
): GatewayServerOptions {
  const { serve, bodyPool, videos, holder, readiness, verification, tracing } = parts;
  const stored = {
    catalog: holder,
    records: backend.recordStore,
    verdicts: verification,
    rules: backend.rulesStore,
    videos,
  };
  return {
    clock,
    deadlines: serve.deadlines,
    clientTimeouts: CLIENT_TIMEOUTS,
    connectionsMax: config.maxConnections,
    unread: new UnreadAnswers(config),
    arriving: new ArrivingBodies(config.arrivingBytesMax),
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
    bodyPool,
    log: new RequestLog(log),
    tracing,
    refuseBeforeBody: (exchange) => refuseBeforeBody(serve, exchange),
    onEnded: (exchange) => serve.refusals.leave(exchange.principal, exchange),
    refuseUnread: (exchange, refusal) => refuseCall(serve, exchange, { refusal }),
    readiness,
  };
}

/** Limits reports to one per second, because a store that is down fails every request. */
function oncePerSecond(clock: Clock, report: (fault: unknown) => void): (fault: unknown) => void {
  let nextMs = 0;
  return (fault) => {
    const nowMs = clock.monotonicMs();
    if (nowMs < nextMs) return;
    nextMs = nowMs + 1_000;
    report(fault);
  };
}

/** A listing whose live answers break its promise is stored as suspect; no call waits for that. */
async function openStanding(
  { config, clock, log, backend: { verdictStore: store } }: FeatureOptions,
  stack: DisposalStack,
) {
  const policy = {
    badPercent: config.liveBadPercent,
    answersMin: config.liveAnswersMin,
  };
  const conduct = new Conduct(policy, (listing, breaches, putBack) => {
    // This listing is already stored as suspect.
    if (verification.isSuspect(listing)) return;
    const detail = { provider: listing.providerId, model: listing.modelId, ...breaches };
    log.warn(detail, "live answers break what the listing promises: it is tried last");
    store.suspect(listing, breaches).then(
      () => verification.refresh(),
      (fault: unknown) => {
        putBack();
        log.warn({ ...detail, err: fault }, "this could not be recorded");
      },
    );
  });
  const onCleared = (listingId: string): void => conduct.forget(listingId);
  const verification = stack.use(new Verification({ store, clock, log, onCleared }));
  await verification.start();
  const standing: CallPorts["standing"] = {
    mayRoute: (deployment) => !config.requireVerified || verification.isVerified(deployment),
    isDistrusted: (deployment) => verification.isDistrusted(deployment),
    note: (deployment, orgId, breaches) => conduct.note(deployment, orgId, breaches),
  };
  return { verification, standing };
}

function openVideos({ config, log, backend }: FeatureOptions, serve: CallPorts): VideoReadDeps {
  const deps: VideoDeps = {
    ...serve,
    jobs: backend.jobStore,
    connections: backend.connectionStore,
    log,
    videos: {
      deadlineMs: config.videoDeadlineMs,
      pollMinMs: config.videoPollMinMs,
      sweepMs: config.videoSweepMs,
      answerTimeoutMs: config.videoAnswerTimeoutMs,
      clientWaitMs: config.videoClientWaitMs,
      noAnswerPauseMs: config.videoNoAnswerPauseMs,
      contentBytesMax: config.videoContentBytesMax,
    },
    videoMetrics: new VideoMetrics(),
    random: Math.random,
  };
  return { ...deps, poller: new VideoPoller(deps) };
}
