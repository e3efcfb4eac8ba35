import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

import type { Logger } from "pino";

import { type Catalog, CatalogHolder, CHECK_DAYS_MAX, oldChecks } from "../catalog/index.ts";
import { type Config, type Environment, secretsIn, SETTINGS } from "../config/index.ts";
import { listenersOf, listenOn, type Listener } from "./check-ports.ts";
import { EventCounts } from "./event-counts.ts";
import { loadCatalog, type CatalogSources, type LoadedCatalog } from "./load-catalog.ts";
import type { Logging } from "./logging.ts";
import { openFeatures, type FeatureOptions } from "./open-features.ts";
import { pricePins } from "./price-pins.ts";
import { SHIPPED_MANIFESTS } from "./shipped-files.ts";
import type { SecretFiles, SecretReading } from "./secret-files.ts";
import { watchFiles } from "./watch-files.ts";
import { watchManifests } from "./watch-manifests.ts";
import { watchPrices } from "./watch-prices.ts";

export interface GatewayOptions extends FeatureOptions {
  /** Secrets that `env` has from files, which are read again at a reload. */
  readonly secrets?: SecretFiles;
  /** Gets every secret that comes into use after the start: no log line may have it. */
  readonly hide?: Logging["hide"];
  readonly rewriteManifests?: CatalogSources["rewrite"];
}

export interface RunningGateway {
  readonly gatewayUrl: string;
  readonly consoleUrl: string;
  readonly internalUrl: string;
  readonly catalog: { readonly current: Catalog };
  /** A one-time link that signs in at the bundled issuer; undefined where there is none. */
  makeClaimLink(email?: string): Promise<string | undefined>;
  /** Rebuilds the catalog; a bad one keeps the old and says why. */
  reload(): void;
  /** Stops accepting, lets running requests finish within the grace time, settles, closes. */
  close(): Promise<void>;
}

/** Thrown when the first catalog cannot be built: there is no old one to keep. */
export class CatalogFault extends Error {
  override readonly name = "CatalogFault";
}

/** No folder was named, so a missing one is not a mistake. */
function hasDefaultFolder({ manifestsDir }: Config): boolean {
  return manifestsDir === SETTINGS.manifestsDir.fallback;
}

/** Composes all parts and opens the three listeners. */
export async function openGateway(options: GatewayOptions): Promise<RunningGateway> {
  const { config } = options;
  const events = new EventCounts();
  const sources = catalogSources(options);
  const first = await firstCatalog(options, sources);
  const holder = new CatalogHolder(first.catalog);
  let { keyOwners } = first;
  const reloadNow = async (): Promise<void> => {
    try {
      const reading = options.secrets?.read();
      const next = { ...sources, ...ofReading(reading), keyOwners };
      const reloaded = await reloadCatalog(options, next, holder);
      const isSwapped = typeof reloaded !== "string";
      events.reload("catalog", isSwapped ? "swapped" : reloaded);
      if (isSwapped) ({ keyOwners } = reloaded);
      if (reloaded !== "failed") useSecrets(options, holder.current, reading);
    } catch (fault) {
      // A file may go away between the listing of its folder and its reading.
      events.reload("catalog", "failed");
      options.log.error({ err: fault }, "the old catalog stays in use");
    }
  };
  // One after the other: what was read last is what stays.
  let reloads = Promise.resolve();
  const reload = (): void => {
    reloads = reloads.then(reloadNow);
  };
  const opened = await openFeatures({ ...options, events }, holder);
  const { servers, addresses } = opened;
  try {
    const listeners = listenersOf(config);
    // First, so that its probes answer while the others open. Among workers every other port is
    // shared: metrics are of one process.
    const internalUrl = await listen(servers.internal, listeners.internal, true);
    addresses.gatewayUrl = await listen(servers.gateway, listeners.gateway);
    const consoleUrl = await listen(servers.console, listeners.console);
    addresses.consoleUrl = config.consoleUrl || consoleUrl;
    opened.start();
    const stopWatching = watchManifests(config.manifestsDir, reload);
    const stopWatchingFiles = watchFiles(options.secrets?.paths ?? [], reload);
    // What changed since the start began.
    if ((options.secrets?.read().changed.length ?? 0) > 0) reload();
    const stopWatchingPrices = watchPrices({ catalog: holder, clock: options.clock }, reload);
    return {
      gatewayUrl: config.gatewayUrl || addresses.gatewayUrl,
      consoleUrl: addresses.consoleUrl,
      internalUrl,
      catalog: holder,
      makeClaimLink: (email) => opened.makeClaimLink(email),
      reload,
      close: async () => {
        stopWatching();
        stopWatchingFiles();
        stopWatchingPrices();
        await opened.close();
      },
    };
  } catch (fault) {
    // A port is taken, for example: leave nothing running behind.
    await opened.close();
    throw fault;
  }
}

type KeySources = Pick<CatalogSources, "env" | "fileProblems">;

function ofReading(reading: SecretReading | undefined): KeySources | undefined {
  return reading === undefined ? undefined : { env: reading.env, fileProblems: reading.problems };
}

/** Provider keys of files are used from now on; the catalog was compiled with them. */
function useSecrets(
  options: GatewayOptions,
  catalog: Catalog,
  reading: SecretReading | undefined,
): void {
  if (reading === undefined) return;
  options.hide?.([...secretsIn(reading.env), ...keysOf(catalog, reading.env)]);
  options.secrets?.use(reading);
  const { changed: variables } = reading;
  if (variables.length > 0) options.log.info({ variables }, "secrets were read from their files");
}

/** Whatever the variables of provider keys are called. */
function keysOf({ deployments }: Catalog, env: Environment): readonly string[] {
  const names = new Set(deployments.flatMap(({ apiKeyEnv }) => apiKeyEnv ?? []));
  return [...names].flatMap((name) => env[name] ?? []);
}

function catalogSources(options: GatewayOptions): CatalogSources {
  const { config, env, clock, rewriteManifests, secrets } = options;
  return {
    ...(secrets === undefined ? {} : { fileProblems: secrets.problems }),
    manifestsDir: config.manifestsDir,
    env,
    clock,
    allowPrivateUpstreams: config.allowPrivateUpstreams,
    poolsFile: config.poolsFile,
    providerKeyOrigins: config.providerKeyOrigins,
    decisionsPublicForm: config.decisionsPublicForm,
    ...(rewriteManifests === undefined ? {} : { rewrite: rewriteManifests }),
  };
}

type GoodCatalog = Extract<LoadedCatalog, { ok: true }>;

async function firstCatalog(
  options: GatewayOptions,
  sources: CatalogSources,
): Promise<GoodCatalog> {
  const loaded = loadCatalog({ ...sources, isFolderOptional: hasDefaultFolder(options.config) });
  if (!loaded.ok) {
    const lines = loaded.issues.map((each) => `${each.file}${each.pointer}: ${each.message}`);
    throw new CatalogFault(`the manifests cannot be compiled:\n${lines.join("\n")}`);
  }
  logNotes(options.log, loaded);
  options.hide?.(keysOf(loaded.catalog, options.env));
  warnOfOldChecks(options, loaded.catalog);
  if (loaded.settlementTerms.size === 0) warnOfNoManifests(options);
  await options.backend.ledgerBatchStore.ensurePricePins(pricePins(loaded.catalog));
  return loaded;
}

/** One line, however many listings: prices that were not checked for long may have changed. */
function warnOfOldChecks({ log, clock }: GatewayOptions, catalog: Catalog): void {
  const providers = oldChecks(catalog, clock.nowMs()).map(({ providerId, oldestOn, listings }) => ({
    provider: providerId,
    checked_on: oldestOn,
    listings,
  }));
  if (providers.length === 0) return;
  log.warn(
    { providers },
    `prices of ${providers.length} providers were checked over ${CHECK_DAYS_MAX} days ago; ` +
      "compare them with `tokenmarket manifest refresh`",
  );
}

/** Without a manifest the gateway starts all the same, so that a new installation can be set up. */
function warnOfNoManifests({ log, config: { manifestsDir } }: GatewayOptions): void {
  log.warn(
    {
      next: [
        `mkdir -p ${manifestsDir}`,
        `cp ${join(SHIPPED_MANIFESTS, "openai.json")} ${manifestsDir}/`,
        "export OPENAI_API_KEY=...",
        "npx tokenmarket serve",
      ],
    },
    `there are no provider manifests in ${manifestsDir}, so requests for every model are answered with 404; ` +
      "`next` lists the commands that add a provider, and `npx tokenmarket dev` runs a simulated provider",
  );
}

/** What was put in force; else whether the old catalog stays in use, or it is the same. */
async function reloadCatalog(
  options: GatewayOptions,
  sources: CatalogSources,
  holder: CatalogHolder,
): Promise<GoodCatalog | "unchanged" | "failed"> {
  const { log, backend } = options;
  const loaded = loadCatalog(sources);
  if (!loaded.ok) {
    log.error(
      { issues: loaded.issues },
      "the manifests are not valid: the old catalog stays in use",
    );
    return "failed";
  }
  if (loaded.catalog.buildId === holder.current.buildId) return "unchanged";
  try {
    // An attempt refers to its prices, so they are stored before anybody can be routed by them.
    await backend.ledgerBatchStore.ensurePricePins(pricePins(loaded.catalog));
  } catch (fault) {
    log.error({ err: fault }, "the new prices could not be stored: the old catalog stays in use");
    return "failed";
  }
  holder.swap(loaded.catalog);
  logNotes(log, loaded);
  const { buildId, models } = loaded.catalog;
  log.info({ build_id: buildId, models: models.length }, "catalog swapped");
  return loaded;
}

function logNotes(log: Logger, { notes, leftOut }: Pick<GoodCatalog, "notes" | "leftOut">): void {
  // One line for all listings of a manifest: a shipped one can have a hundred, all without a key.
  const groups = new Map<string, { readonly first: (typeof notes)[number]; listings: number }>();
  for (const note of notes) {
    if (note.reason === "purchase_above_price") {
      log.warn(note, "listing sold at a loss");
      continue;
    }
    const key = `${note.file} ${note.reason}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { first: note, listings: 1 });
    else group.listings += 1;
  }
  for (const { first, listings } of groups.values()) {
    const { file, reason, message } = first;
    log.info({ file, reason, listings, example: message }, "listings not routed");
  }
  for (const file of leftOut) {
    log.info({ file }, "skipped: its address is private; TM_ALLOW_PRIVATE_UPSTREAMS=1 allows it");
  }
}

async function listen(server: Server, listener: Listener, exclusive = false): Promise<string> {
  await listenOn(server, listener, exclusive);
  const address = server.address() as AddressInfo;
  const name = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return `http://${name === "0.0.0.0" || name === "[::]" ? "127.0.0.1" : name}:${address.port}`;
}
