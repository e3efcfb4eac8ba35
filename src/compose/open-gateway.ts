import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname } from "node:os";

import type { Logger } from "pino";

import { openAuthenticator } from "../auth/authenticate.ts";
import { CatalogHolder } from "../catalog/catalog-holder.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { Config } from "../config/settings.ts";
import type { Clock } from "../core/time.ts";
import { refuseCall } from "../gateway/refuse-call.ts";
import type { ServeDeps } from "../gateway/serve-deps.ts";
import type { VideoReadDeps } from "../gateway/serve-video.ts";
import { gatewayRoutes } from "../http/gateway-routes.ts";
import { createGatewayServer } from "../http/gateway-server.ts";
import { metricsRegistry } from "../http/metrics-text.ts";
import { createConsoleServer, createInternalServer } from "../http/plain-servers.ts";
import { RequestLog } from "../http/request-log.ts";
import { openLedger } from "../ledger/open-ledger.ts";
import type { Backend } from "./open-backend.ts";
import { openLimits } from "./open-limits.ts";
import { openVideos } from "./open-videos.ts";
import { openServing, prepareServing } from "./open-serving.ts";
import { pricePins } from "./price-pins.ts";
import { loadCatalog, type CatalogSources } from "./load-catalog.ts";
import { watchManifests } from "./watch-manifests.ts";

export interface GatewayOptions {
  readonly config: Config;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly backend: Backend;
  readonly rewriteManifests?: CatalogSources["rewrite"];
}

export interface RunningGateway {
  readonly gatewayUrl: string;
  readonly consoleUrl: string;
  readonly internalUrl: string;
  readonly catalog: { readonly current: Catalog };
  /** Rebuilds the catalog; a bad one keeps the old and says why. */
  reload(): void;
  /** Stops accepting, lets running requests finish within the grace time, settles, closes. */
  close(): Promise<void>;
}

/** Thrown when the first catalog cannot be built: there is no old one to keep. */
export class CatalogFault extends Error {
  override readonly name = "CatalogFault";
}

/** Puts every room together and opens the three listeners. */
export async function openGateway(options: GatewayOptions): Promise<RunningGateway> {
  const { config, clock, log, backend } = options;
  const sources = catalogSources(options);
  const holder = new CatalogHolder(await firstCatalog(options, sources));
  const reload = (): void => void reloadCatalog(options, sources, holder);
  const prepared = prepareServing(options);
  const limits = await openLimits({ ...options, catalog: holder });
  const ledger = await openLedger({
    store: backend.ledgerBatchStore,
    clock,
    log,
    instanceName: hostname(),
  }).catch((fault: unknown) => {
    limits.close();
    throw fault;
  });
  const serving = openServing(options, { ...prepared, catalog: holder, ledger, limits });
  const { serve } = serving;
  const videos = openVideos(options, serve);
  const { metrics, drains } = serve;
  let accepting = true;
  const ready = (): boolean => accepting && ledger.healthy;
  const gateway = gatewayServer(options, { serve, videos, holder, ready });
  const console = createConsoleServer(holder);
  const registry = metricsRegistry(metrics, videos.videoMetrics, () => drains.active);
  const internal = createInternalServer({ registry, ready });
  const servers = [gateway, console, internal];
  const close = async (): Promise<void> => {
    accepting = false;
    // First: nobody waits for a look at a job any more, and looks under way are given back.
    const pollerClosed = videos.poller.close();
    await finishRequests(gateway, serve, config.shutdownGraceMs);
    for (const server of servers) closeNow(server);
    await pollerClosed;
    serving.close();
    await serve.upstream.close();
    await ledger.shutDown();
    limits.close();
  };
  try {
    const gatewayUrl = await listen(gateway, config.host, config.port);
    const consoleUrl = await listen(console, config.host, config.consolePort);
    // Among workers every other port is shared: metrics are of one process.
    const internalUrl = await listen(internal, "127.0.0.1", config.internalPort, true);
    videos.poller.start();
    const stopWatching = watchManifests(config.manifestsDir, reload);
    return {
      gatewayUrl: config.gatewayUrl || gatewayUrl,
      consoleUrl: config.consoleUrl || consoleUrl,
      internalUrl,
      catalog: holder,
      reload,
      close: async () => {
        stopWatching();
        await close();
      },
    };
  } catch (fault) {
    // A port is taken, for example: leave nothing running behind.
    await close();
    throw fault;
  }
}

/** The public listener: keys, routes, log. */
function gatewayServer(
  { config, clock, log, backend }: GatewayOptions,
  parts: {
    readonly serve: ServeDeps;
    readonly videos: VideoReadDeps;
    readonly holder: CatalogHolder;
    readonly ready: () => boolean;
  },
): Server {
  const { serve, videos, holder, ready } = parts;
  return createGatewayServer({
    clock,
    deadlines: serve.deadlines,
    authenticator: openAuthenticator({
      keyStore: backend.keyStore,
      clock,
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
    refuseUnread: (exchange, refusal) => refuseCall(serve, exchange, { refusal }),
    ready,
  });
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

function catalogSources(options: GatewayOptions): CatalogSources {
  const { config, env, clock, rewriteManifests } = options;
  return {
    manifestsDir: config.manifestsDir,
    env,
    clock,
    allowPrivateUpstreams: config.allowPrivateUpstreams,
    poolsFile: config.poolsFile,
    decisionsPublicForm: config.decisionsPublicForm,
    ...(rewriteManifests === undefined ? {} : { rewrite: rewriteManifests }),
  };
}

async function firstCatalog(options: GatewayOptions, sources: CatalogSources): Promise<Catalog> {
  const loaded = loadCatalog(sources);
  if (!loaded.ok) {
    const lines = loaded.issues.map((each) => `${each.file}${each.pointer}: ${each.message}`);
    throw new CatalogFault(`the manifests cannot be compiled:\n${lines.join("\n")}`);
  }
  tellNotes(options.log, loaded);
  await options.backend.ledgerBatchStore.ensurePricePins(pricePins(loaded.catalog));
  return loaded.catalog;
}

async function reloadCatalog(
  options: GatewayOptions,
  sources: CatalogSources,
  holder: CatalogHolder,
): Promise<void> {
  const { log, backend } = options;
  const loaded = loadCatalog(sources);
  if (!loaded.ok) {
    log.error({ issues: loaded.issues }, "the manifests are not valid: the old catalog stays");
    return;
  }
  if (loaded.catalog.buildId === holder.current.buildId) return;
  try {
    // An attempt refers to its prices, so they are stored before anybody can be routed by them.
    await backend.ledgerBatchStore.ensurePricePins(pricePins(loaded.catalog));
  } catch (fault) {
    log.error({ err: fault }, "the new prices could not be stored: the old catalog stays");
    return;
  }
  holder.swap(loaded.catalog);
  tellNotes(log, loaded);
  const { buildId, models } = loaded.catalog;
  log.info({ build_id: buildId, models: models.length }, "catalog swapped");
}

function tellNotes(
  log: Logger,
  loaded: { readonly notes: readonly { message: string }[]; readonly leftOut: readonly string[] },
): void {
  for (const note of loaded.notes) log.info(note, "listing not routed");
  for (const file of loaded.leftOut) {
    log.info({ file }, "left out: its address is private; TM_ALLOW_PRIVATE_UPSTREAMS=1 allows it");
  }
}

async function listen(
  server: Server,
  host: string,
  port: number,
  exclusive = false,
): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host, exclusive }, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const address = server.address() as AddressInfo;
  const name = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return `http://${name === "0.0.0.0" || name === "[::]" ? "127.0.0.1" : name}:${address.port}`;
}

function closeNow(server: Server): void {
  server.close();
  server.closeAllConnections();
}

const SHUTDOWN_POLL_MS = 50;
/** For the terminal events and settlements of what was cut. */
const LAST_ANSWERS_MS = 5_000;

/**
 * Lets running requests and drains end. What outlives the grace time is ended with the wire's
 * terminal error event and settled at what was reported.
 */
async function finishRequests(server: Server, serve: ServeDeps, graceMs: number): Promise<void> {
  server.close();
  await emptied(server, serve, graceMs);
  serve.deadlines.cutAll();
  await emptied(server, serve, LAST_ANSWERS_MS);
}

async function emptied(server: Server, serve: ServeDeps, withinMs: number): Promise<void> {
  const { clock, metrics, drains } = serve;
  const lastMs = clock.monotonicMs() + withinMs;
  server.closeIdleConnections();
  while (metrics.inFlight + drains.active > 0 && clock.monotonicMs() < lastMs) {
    await new Promise((resolve) => setTimeout(resolve, SHUTDOWN_POLL_MS));
    server.closeIdleConnections();
  }
}
