import { randomBytes } from "node:crypto";

import type { Logger } from "pino";

import {
  type AbuseMonitor,
  NO_ABUSE_MONITOR,
  TrialAbuseMonitor,
  type UsageRule,
} from "../abuse/index.ts";
import type { Config, UnusualUseConfig } from "../config/index.ts";
import { type Clock, type MicroUsd, parseUsd } from "../core/index.ts";
import type { Backend } from "./open-backend.ts";

const SALT_BYTES = 32;
/** Each is a mark in memory for as long as the window. */
const CLIENT_ADDRESSES_MAX = 1_000;

/** Thrown when `unusual_use` says something that cannot be meant. */
export class UnusualUseFault extends Error {
  override readonly name = "UnusualUseFault";
}

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
      clientAddresses: lineUpTo(CLIENT_ADDRESSES_MAX, {
        path: "unusual_use.client_addresses",
        value: config.unusualUseClientAddresses,
      }),
      errorPercent: lineUpTo(100, {
        path: "unusual_use.error_percent",
        value: config.unusualUseErrorPercent,
      }),
      requestsMin: config.unusualUseRequestsMin,
      spendMicroUsd: spendLine(config.unusualUseSpendUsd),
    },
    limitedMs: config.unusualUseLimitedSeconds * 1000,
    repeatMs: config.unusualUseRepeatHours * 3_600_000,
  };
}

function lineOf(value: number): number | undefined {
  return value === 0 ? undefined : value;
}

function lineUpTo(
  max: number,
  { path, value }: { readonly path: string; readonly value: number },
): number | undefined {
  if (value <= max) return lineOf(value);
  throw new UnusualUseFault(
    `${path} must be a whole number up to ${max}, or 0 to turn the check off`,
  );
}

function spendLine(text: string): MicroUsd | undefined {
  if (text === "") return undefined;
  const amount = parseUsd(text);
  if (amount !== undefined && amount > 0n) return amount;
  throw new UnusualUseFault(
    `unusual_use.spend_usd must be dollars above 0 such as "5.00", or "" to turn the check off, not ${text}`,
  );
}
