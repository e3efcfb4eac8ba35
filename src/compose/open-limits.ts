import type { Logger } from "pino";

import type { Config } from "../config/settings.ts";
import { storeAnswerTimeoutMs } from "../core/constants.ts";
import type { Clock } from "../core/time.ts";
import type { LimitStore } from "../limits/limit-store.ts";
import { MemoryLimitStore } from "../storage/memory/memory-limit-store.ts";
import { RedisLimitStore } from "../storage/redis/redis-limit-store.ts";
import type { Backend } from "./open-backend.ts";

export interface Limits {
  readonly store: LimitStore;
  close(): void;
}

/**
 * Opens the limits: shared in Redis when `REDIS_URL` names one, else in the memory of this process.
 * A Redis that is not there yet does not stop the start: requests are refused until it is.
 */
export async function openLimits(options: {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Logger;
  readonly backend: Pick<Backend, "recentUse">;
}): Promise<Limits> {
  const { config, clock, log, backend } = options;
  if (config.redisUrl === "") return { store: new MemoryLimitStore(), close: () => undefined };
  const { recentUse } = backend;
  const store = new RedisLimitStore({ url: config.redisUrl, recentUse, clock, log });
  await store.ready(storeAnswerTimeoutMs);
  return { store, close: () => store.close() };
}
