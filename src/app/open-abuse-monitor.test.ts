import { expect, test } from "vitest";

import { NO_ABUSE_MONITOR } from "../gateway/abuse/abuse-monitor.ts";
import { TrialAbuseMonitor } from "../gateway/abuse/trial-abuse-monitor.ts";
import { loadConfig } from "../kernel/config/load-config.ts";
import type { Config, SettingName } from "../kernel/config/settings.ts";
import { systemClock } from "../kernel/core/time.ts";
import { openAbuseMonitor } from "./open-abuse-monitor.ts";
import type { Backend } from "./open-backend.ts";

function guardWith(flags: Partial<Record<SettingName, string | number>>): unknown {
  const outcome = loadConfig({ flags, env: {} });
  const { config } = outcome as { config: Config };
  const backend = {} as Pick<Backend, "usageHoldStore">;
  return openAbuseMonitor({ config, clock: systemClock, log: { warn: () => undefined }, backend });
}

test("the defaults monitor unusual use, a window of 0 seconds does not", () => {
  expect(guardWith({})).toBeInstanceOf(TrialAbuseMonitor);
  expect(guardWith({ unusualUseWindowSeconds: 0 })).toBe(NO_ABUSE_MONITOR);
});

test("what is not monitored may be left out", () => {
  const nothing = {
    unusualUseRefusedRequests: 0,
    unusualUseClientAddresses: 0,
    unusualUseErrorPercent: 0,
    unusualUseSpendUsd: "",
  };
  expect(guardWith(nothing)).toBeInstanceOf(TrialAbuseMonitor);
});
