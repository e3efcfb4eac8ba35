import { randomBytes } from "node:crypto";

import type { Logger } from "pino";

import type { CatalogHolder } from "../catalog/index.ts";
import type { WireTable } from "../formats/index.ts";
import {
  type AbuseMonitor,
  Affinity,
  type CallPorts,
  type CallTimeouts,
  DetachedReadLimit,
  GatewayMetrics,
  HealthExchange,
  limitScopes,
  MemoryDeploymentHealth,
  NO_ABUSE_MONITOR,
  PoolBoard,
  RefusalWindows,
  RepeatedFailures,
  type ScopeClaim,
  Shortfalls,
  TrialAbuseMonitor,
} from "../gateway/index.ts";
import {
  BufferPool,
  type Config,
  Deadlines,
  defined,
  type LimitConfig,
  parseUsd,
  type TimeoutConfig,
} from "../kernel/index.ts";
import type { Ledger } from "../ledger/index.ts";
import { attemptClassifier, type AttemptTimeouts, UpstreamClient } from "../upstream/index.ts";
import { readOutbound } from "./check-connection.ts";
import type { Backend } from "./open-backend.ts";
import type { ConsoleOptions } from "./open-console.ts";
import { openConfiguredVault, ownKeyOpener } from "./open-key-vault.ts";
import type { Limits } from "./open-limits.ts";

export interface ServingOptions extends Pick<
  ConsoleOptions,
  "config" | "env" | "clock" | "log" | "backend"
> {
  /** The wires that clients and providers may speak. Default: all that the program has. */
  readonly wires?: WireTable;
  /** Pool of buffers for request bodies. Default: a new pool of the standard size. */
  readonly bodyPool?: BufferPool;
}

/** Opens those parts of serving that may reject a setting, before the limits and the ledger. */
export function prepareServing(
  options: ServingOptions & { readonly inForce: { readonly current: Config } },
) {
  const { config, inForce } = options;
  return {
    outbound: readOutbound(config),
    vault: openConfiguredVault(config, inForce),
    usage: openAbuseMonitor(options),
  };
}

type PreparedServing = ReturnType<typeof prepareServing>;

/** Makes what calls need. Close `serve.upstream` after the last call. */
export function openServing(
  options: Pick<ServingOptions, "config" | "env" | "clock" | "wires" | "bodyPool">,
  opened: Pick<PreparedServing, "usage"> &
    Partial<PreparedServing> & {
      readonly catalog: CatalogHolder;
      readonly ledger: Ledger;
      readonly limits: Pick<Limits, "store" | "sharedHealth">;
      readonly standing: CallPorts["standing"];
    },
) {
  const { config, env, clock, wires, bodyPool = new BufferPool() } = options;
  const { catalog, ledger, limits, usage, standing, outbound, vault } = opened;
  const exchange = new HealthExchange({ shared: limits.sharedHealth, clock });
  const health = new MemoryDeploymentHealth({
    onOpened: (id, forMs) => exchange.publish({ kind: "circuit", id, forMs }),
  });
  const pools = new PoolBoard({
    limits: limits.store,
    onCooldown: (id, forMs) => exchange.publish({ kind: "pool", id, forMs }),
  });
  exchange.listen({ circuit: health, pool: pools });
  const metrics = new GatewayMetrics(config.metricsListingsMax);
  const upstream = new UpstreamClient({
    allowPrivateUpstreams: config.allowPrivateUpstreams,
    providerKey: (name) => env[name],
    bodyPool,
    ...defined({ wires, outbound, openKey: vault && ownKeyOpener(vault) }),
    onSentAgain: ({ providerId }) => metrics.sentAgain(providerId),
  });
  const { refusalsPerMinute, unfundedRequestsPerMinute } = config;
  const refusedPerMinute = { refusalsPerMinute, unfundedRequestsPerMinute };
  const serve: CallPorts = {
    clock,
    deadlines: new Deadlines(clock),
    catalog,
    health,
    pools,
    standing,
    limits: limits.store,
    ledger,
    classify: attemptClassifier(clock),
    drains: new DetachedReadLimit(config.concurrentDrains),
    metrics,
    repeats: new RepeatedFailures(),
    affinity: new Affinity(),
    usage,
    refusals: new RefusalWindows({ limits: limits.store, clock, ...refusedPerMinute }),
    shortfalls: new Shortfalls(clock),
    upstream,
    opensOwnKeys: vault !== undefined,
    timeouts: callTimeouts(config),
    limitDefaults: config,
    scopesOf: limitScopes(config),
    platform: platformScopes(config),
  };
  return { serve, bodyPool, close: () => exchange.close() };
}

function callTimeouts(config: TimeoutConfig): CallTimeouts {
  return {
    stream: {
      headersMs: config.streamHeadersTimeoutMs,
      idleMs: config.streamIdleTimeoutMs,
      totalMs: config.streamTotalMs,
      firstContentMs: config.firstContentTimeoutMs,
      drainMs: config.generationTimeoutMs,
    },
    whole: wholeWithin(config.generationTimeoutMs),
    videoAccept: wholeWithin(config.videoAcceptTimeoutMs),
    decisions: wholeWithin(config.decisionsTimeoutMs),
    routingMs: config.routingTimeoutMs,
    keepaliveMs: config.keepaliveMs,
    commitSilenceMs: config.commitSilenceMs,
  };
}

function wholeWithin(totalMs: number): AttemptTimeouts {
  return { headersMs: totalMs, idleMs: Number.POSITIVE_INFINITY, totalMs, drainMs: totalMs };
}

function platformScopes(config: LimitConfig): readonly ScopeClaim[] {
  const { platformRequestsPerMinute: rpm, platformConcurrentRequests: concurrent } = config;
  if (rpm === 0 && concurrent === 0) return [];
  const limits = { requestsPerMinute: notZero(rpm), concurrent: notZero(concurrent) };
  return [{ scope: "platform", id: "platform", limits: defined(limits) }];
}

const SALT_BYTES = 32;

export function openAbuseMonitor({
  config,
  clock,
  log,
  backend,
}: Pick<ServingOptions, "config" | "clock"> & {
  readonly log: Pick<Logger, "warn">;
  readonly backend: Pick<Backend, "usageHoldStore">;
}): AbuseMonitor {
  if (config.unusualUseWindowSeconds === 0) return NO_ABUSE_MONITOR;
  return new TrialAbuseMonitor({
    policy: {
      windowMs: config.unusualUseWindowSeconds * 1000,
      refusedRequests: notZero(config.unusualUseRefusedRequests),
      clientAddresses: notZero(config.unusualUseClientAddresses),
      errorPercent: notZero(config.unusualUseErrorPercent),
      requestsMin: config.unusualUseRequestsMin,
      spendMicroUsd: parseUsd(config.unusualUseSpendUsd),
    },
    limitedMs: config.unusualUseLimitedSeconds * 1000,
    repeatMs: config.unusualUseRepeatHours * 3_600_000,
    principalMs: config.keyCacheMs,
    store: backend.usageHoldStore,
    clock,
    log,
    salt: randomBytes(SALT_BYTES),
  });
}

function notZero(value: number): number | undefined {
  return value === 0 ? undefined : value;
}
