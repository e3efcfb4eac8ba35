import type { Logger } from "pino";

import type { Catalog } from "../catalog/index.ts";
import {
  type Config,
  type Clock,
  STORE_ANSWER_TIMEOUT_MS,
  RedisLink,
  type RedisServers,
} from "../kernel/index.ts";
import {
  type LimitStore,
  LimitStoreCounts,
  MemoryLimitStore,
  type PoolMember,
  RedisLimitStore,
  healthScripts,
  RedisSharedHealth,
  type SharedHealth,
} from "../gateway/index.ts";
import type { Backend } from "./open-backend.ts";

export interface Limits {
  readonly store: LimitStore;
  /** Circuits and cooldowns that other processes report; undefined if limits are not shared. */
  readonly sharedHealth: SharedHealth | undefined;
  readonly counts: LimitStoreCounts;
  close(): void;
}

/** The program starts even if Redis does not answer yet; requests are refused until it does. */
export async function openLimits(options: {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Logger;
  readonly backend: Pick<Backend, "recentUse">;
  readonly catalog: { readonly current: Pick<Catalog, "deployments"> };
}): Promise<Limits> {
  const { config, clock, log, backend, catalog } = options;
  const counts = new LimitStoreCounts();
  if (config.redisUrl === "") {
    const store = new MemoryLimitStore();
    return { store, sharedHealth: undefined, counts, close: () => undefined };
  }
  const listMembers = (poolId: string): readonly PoolMember[] =>
    catalog.current.deployments.filter(({ pool }) => pool.id === poolId);
  const store = new RedisLimitStore({
    servers: toRedisServers(config),
    recentUse: (slot) => backend.recentUse(slot, listMembers),
    clock,
    log,
    counts,
    sharedScripts: healthScripts,
  });
  await store.ready(STORE_ANSWER_TIMEOUT_MS);
  const sharedHealth = new RedisSharedHealth({ link: store.link });
  return { store, sharedHealth, counts, close: () => store.close() };
}

const LIMIT_KEYS = "tm:";

/**
 * Deletes this program's entries in Redis, the shared limit store; instances refill it from the
 * journal. Returns their number; undefined if limits are in memory. Rejects if no answer comes.
 */
export async function emptyLimitStore(config: Config): Promise<number | undefined> {
  if (config.redisUrl === "") return undefined;
  const link = new RedisLink(toRedisServers(config), {}, () => undefined);
  try {
    await link.ready(STORE_ANSWER_TIMEOUT_MS);
    return await link.removeAll(LIMIT_KEYS);
  } finally {
    link.close();
  }
}

function toRedisServers(config: Config): RedisServers {
  return {
    url: config.redisUrl,
    mode: config.redisMode,
    master: config.redisMaster,
    caFile: config.redisCaFile,
    sentinelPassword: config.redisSentinelPassword,
  };
}
