import type { Logger } from "pino";

import type { AbuseMonitor } from "../abuse/index.ts";
import {
  type CallParts,
  type CallPorts,
  type CallRules,
  type CallTimeouts,
  DetachedReadLimit,
  GatewayMetrics,
  type LivePorts,
  type RefusalLimits,
  RefusalWindows,
  Shortfalls,
} from "../call/index.ts";
import type { CatalogHolder } from "../catalog/index.ts";
import {
  type Config,
  LIMIT_SETTINGS,
  type LimitConfig,
  type LiveConfig,
  namesOf,
  TIMEOUT_SETTINGS,
  type TimeoutConfig,
} from "../config/index.ts";
import { BufferPool, type Clock, Deadlines } from "../core/index.ts";
import {
  attemptClassifier,
  type AttemptTimeouts,
  type Outbound,
  UpstreamClient,
} from "../dispatch/index.ts";
import type { Ledger } from "../ledger/index.ts";
import { limitScopes, PoolBoard, type ScopeClaim } from "../limits/index.ts";
import {
  Affinity,
  HealthExchange,
  MemoryDeploymentHealth,
  RepeatedFailures,
} from "../routing/index.ts";
import type { WireTable } from "../wire/index.ts";
import { followAbuseSettings } from "./open-abuse-monitor.ts";
import type { Backend } from "./open-backend.ts";
import {
  followVault,
  type LiveVault,
  openConfiguredVault,
  ownKeyOpener,
} from "./open-key-vault.ts";
import type { Limits } from "./open-limits.ts";
import { readOutbound } from "./read-outbound.ts";

export interface ServingOptions {
  readonly live: LiveConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly backend: Backend;
  /** What clients and providers may speak. Default: the wires of the program. */
  readonly wires?: WireTable;
  /** Default: one of the bound of the program. */
  readonly bodyPool?: BufferPool;
}

/** What the recipes work with, and how it ends. */
export interface Serving {
  /** What stays for the life of the process. */
  readonly serve: CallParts;
  /** The connections to providers, closed after the last call. */
  readonly upstream: Pick<UpstreamClient, "close">;
  /** What a call that begins now works with. */
  readonly ports: LivePorts;
  /** What large request bodies are in, while they are read and while they are sent. */
  readonly bodyPool: BufferPool;
  /** Stops hearing of other instances. */
  close(): void;
}

/** What a wrong setting can spoil: made before anything is opened that would have to be closed. */
export interface PreparedServing {
  readonly outbound: Outbound;
  readonly usage: AbuseMonitor;
  readonly vault: LiveVault;
}

export function prepareServing(options: ServingOptions): PreparedServing {
  const { live } = options;
  return {
    outbound: readOutbound(live.current),
    vault: followVault(live),
    usage: followAbuseSettings({ ...options, config: live.current }, live),
  };
}

/** Puts together what the recipes work with: circuits, pools, limits, providers, time limits. */
export function openServing(
  options: Pick<ServingOptions, "live" | "env" | "clock" | "wires" | "bodyPool">,
  opened: Pick<PreparedServing, "usage"> &
    Partial<Pick<PreparedServing, "outbound">> & {
      readonly catalog: CatalogHolder;
      readonly ledger: Ledger;
      readonly limits: Pick<Limits, "store" | "sharedHealth">;
      readonly standing: CallPorts["standing"];
    },
): Serving {
  const { live, env, clock, wires, bodyPool = new BufferPool() } = options;
  const { catalog, ledger, limits, usage, standing, outbound } = opened;
  const config = live.current;
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
  const client = new UpstreamClient({
    allowPrivateUpstreams: config.allowPrivateUpstreams,
    providerKey: (name) => env[name],
    bodyPool,
    ...(outbound && { outbound }),
    onSentAgain: ({ providerId }) => metrics.sentAgain(providerId),
    ...(wires === undefined ? {} : { wires }),
  });
  const drains = new DetachedReadLimit(config.concurrentDrains);
  const refusals = new RefusalWindows({ limits: limits.store, clock, ...widthsOf(config) });
  const parts: CallParts = {
    clock,
    deadlines: new Deadlines(clock),
    catalog,
    health,
    pools,
    standing,
    limits: limits.store,
    ledger,
    classify: attemptClassifier(clock),
    drains,
    metrics,
    repeats: new RepeatedFailures(),
    affinity: new Affinity(),
    usage,
    refusals,
    shortfalls: new Shortfalls(clock),
  };
  live.follow(["concurrentDrains"], (values) => () => {
    drains.follow(values.concurrentDrains);
  });
  live.follow(["refusalsPerMinute", "unfundedRequestsPerMinute"], (values) => () => {
    refusals.follow(widthsOf(values));
  });
  const ports = followRules(live, parts, client);
  return { serve: parts, upstream: client, ports, bodyPool, close: () => exchange.close() };
}

function followRules(live: LiveConfig, parts: CallParts, client: UpstreamClient): LivePorts {
  let current: CallPorts = { ...parts, ...callRules(live.current, client) };
  const names = [...namesOf(TIMEOUT_SETTINGS), ...namesOf(LIMIT_SETTINGS)] as const;
  live.follow([...names, "encryptionKey"], (values) => {
    const next = { ...parts, ...callRules(values, client) };
    return () => {
      current = next;
    };
  });
  return {
    get current() {
      return current;
    },
  };
}

type RuleConfig = LimitConfig & TimeoutConfig & Pick<Config, "encryptionKey">;

function callRules(config: RuleConfig, client: UpstreamClient): CallRules {
  const vault = openConfiguredVault(config);
  return {
    upstream: client.opening(vault === undefined ? undefined : ownKeyOpener(vault)),
    opensOwnKeys: vault !== undefined,
    timeouts: callTimeouts(config),
    limitDefaults: config,
    scopesOf: limitScopes(config),
    platform: platformScopes(config),
  };
}

function widthsOf({
  refusalsPerMinute,
  unfundedRequestsPerMinute,
}: Pick<LimitConfig, "refusalsPerMinute" | "unfundedRequestsPerMinute">): RefusalLimits {
  return { refusalsPerMinute, unfundedRequestsPerMinute };
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

/** An answer that comes whole, or not at all. */
function wholeWithin(totalMs: number): AttemptTimeouts {
  return { headersMs: totalMs, idleMs: Number.POSITIVE_INFINITY, totalMs, drainMs: totalMs };
}

/** One scope when anything is limited for all organizations together, else none. */
function platformScopes(config: LimitConfig): readonly ScopeClaim[] {
  const { platformRequestsPerMinute: rpm, platformConcurrentRequests: concurrent } = config;
  if (rpm === 0 && concurrent === 0) return [];
  const limits = {
    ...(rpm === 0 ? {} : { requestsPerMinute: rpm }),
    ...(concurrent === 0 ? {} : { concurrent }),
  };
  return [{ scope: "platform", id: "platform", limits }];
}
