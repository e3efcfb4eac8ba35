import { randomBytes } from "node:crypto";

import type { Logger } from "pino";

import {
  type AbuseMonitor,
  NO_ABUSE_MONITOR,
  TrialAbuseMonitor,
  type UsageRule,
} from "../gateway/index.ts";
import { type Config, type UnusualUseConfig, type Clock, parseUsd } from "../kernel/index.ts";
import type { Backend } from "./open-backend.ts";

const SALT_BYTES = 32;
interface MonitorOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Pick<Logger, "warn">;
  readonly backend: Pick<Backend, "usageHoldStore">;
}

/** Opens the monitor of unusual use on trial credit; a window of 0 seconds switches it off. */
export function openAbuseMonitor(options: MonitorOptions): AbuseMonitor {
  const { config, clock, log, backend } = options;
  const rule = ruleOf(config);
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

/** Undefined: nothing is watched. */
function ruleOf(config: UnusualUseConfig): UsageRule | undefined {
  if (config.unusualUseWindowSeconds === 0) return undefined;
  return {
    policy: {
      windowMs: config.unusualUseWindowSeconds * 1000,
      refusedRequests: lineOf(config.unusualUseRefusedRequests),
      clientAddresses: lineOf(config.unusualUseClientAddresses),
      errorPercent: lineOf(config.unusualUseErrorPercent),
      requestsMin: config.unusualUseRequestsMin,
      spendMicroUsd: parseUsd(config.unusualUseSpendUsd),
    },
    limitedMs: config.unusualUseLimitedSeconds * 1000,
    repeatMs: config.unusualUseRepeatHours * 3_600_000,
  };
}

function lineOf(value: number): number | undefined {
  return value === 0 ? undefined : value;
}
