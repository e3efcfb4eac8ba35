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
  type KeyVault,
  limitScopes,
  MemoryDeploymentHealth,
  NO_ABUSE_MONITOR,
  PoolBoard,
  RefusalWindows,
  RepeatedFailures,
  type ScopeClaim,
  Shortfalls,
  TrialAbuseMonitor,
  type UsageRule,
} from "../gateway/index.ts";
import {
  BufferPool,
  type Clock,
  type Config,
  Deadlines,
  type LimitConfig,
  parseUsd,
  type TimeoutConfig,
  type UnusualUseConfig,
} from "../kernel/index.ts";
import type { Ledger } from "../ledger/index.ts";
import {
  attemptClassifier,
  type AttemptTimeouts,
  type Outbound,
  UpstreamClient,
} from "../upstream/index.ts";
import { readOutbound } from "./check-connection.ts";
import type { Backend } from "./open-backend.ts";
import { openConfiguredVault, ownKeyOpener } from "./open-key-vault.ts";
import type { Limits } from "./open-limits.ts";

export interface ServingOptions {
  readonly config: Config;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly backend: Backend;
  readonly wires?: WireTable;
  readonly bodyPool?: BufferPool;
}

export interface Serving {
  /** What calls need. Close `serve.upstream` after the last call. */
  readonly serve: CallPorts;
  readonly bodyPool: BufferPool;
  close(): void;
}

/** The parts that throw on an invalid setting. They are made before anything else is open. */
export interface PreparedServing {
  readonly outbound: Outbound;
  readonly usage: AbuseMonitor;
  readonly vault: KeyVault | undefined;
}

export function prepareServing(
  options: ServingOptions & { readonly inForce: { readonly current: Config } },
): PreparedServing {
  const { config, inForce } = options;
  return {
    outbound: readOutbound(config),
    vault: openConfiguredVault(config, inForce),
    usage: openAbuseMonitor(options),
  };
}

export function openServing(
  options: Pick<ServingOptions, "config" | "env" | "clock" | "wires" | "bodyPool">,
  opened: Pick<PreparedServing, "usage"> &
    Partial<Pick<PreparedServing, "outbound" | "vault">> & {
      readonly catalog: CatalogHolder;
      readonly ledger: Ledger;
      readonly limits: Pick<Limits, "store" | "sharedHealth">;
      readonly standing: CallPorts["standing"];
    },
): Serving {
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
    ...(vault && { openKey: ownKeyOpener(vault) }),
    ...(outbound && { outbound }),
    onSentAgain: ({ providerId }) => metrics.sentAgain(providerId),
    ...(wires === undefined ? {} : { wires }),
  });
  const { refusalsPerMinute, unfundedRequestsPerMinute } = config;
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
    refusals: new RefusalWindows({
      limits: limits.store,
      clock,
      refusalsPerMinute,
      unfundedRequestsPerMinute,
    }),
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
  const limits = {
    ...(rpm === 0 ? {} : { requestsPerMinute: rpm }),
    ...(concurrent === 0 ? {} : { concurrent }),
  };
  return [{ scope: "platform", id: "platform", limits }];
}

const SALT_BYTES = 32;
interface MonitorOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Pick<Logger, "warn">;
  readonly backend: Pick<Backend, "usageHoldStore">;
}

export function openAbuseMonitor(options: MonitorOptions): AbuseMonitor {
  const { config, clock, log, backend } = options;
  const rule = buildRule(config);
  if (rule === undefined) return NO_ABUSE_MONITOR;
  return new TrialAbuseMonitor({
    ...rule,
    principalMs: config.keyCacheMs,
    store: backend.usageHoldStore,
    clock,
    log,
    salt: randomBytes(SALT_BYTES),
  });
}

function buildRule(config: UnusualUseConfig): UsageRule | undefined {
  if (config.unusualUseWindowSeconds === 0) return undefined;
  return {
    policy: {
      windowMs: config.unusualUseWindowSeconds * 1000,
      refusedRequests: toThreshold(config.unusualUseRefusedRequests),
      clientAddresses: toThreshold(config.unusualUseClientAddresses),
      errorPercent: toThreshold(config.unusualUseErrorPercent),
      requestsMin: config.unusualUseRequestsMin,
      spendMicroUsd: parseUsd(config.unusualUseSpendUsd),
    },
    limitedMs: config.unusualUseLimitedSeconds * 1000,
    repeatMs: config.unusualUseRepeatHours * 3_600_000,
  };
}

function toThreshold(value: number): number | undefined {
  return value === 0 ? undefined : value;
}
