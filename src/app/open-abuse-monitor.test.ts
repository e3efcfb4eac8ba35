import { describe, expect, test } from "vitest";

import { NO_ABUSE_MONITOR } from "../abuse/abuse-monitor.ts";
import { TrialAbuseMonitor } from "../abuse/trial-abuse-monitor.ts";
import { loadConfig } from "../config/load-config.ts";
import type { Config, SettingName } from "../config/settings.ts";
import { systemClock } from "../core/time.ts";
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

describe("a line that cannot be meant stops the start, with what to write instead", () => {
  test.each(["five", "-1", "0", "0.0000001", "5,00"])("spend_usd: %s", (unusualUseSpendUsd) => {
    expect(() => guardWith({ unusualUseSpendUsd })).toThrow(
      /^unusual_use\.spend_usd must be dollars above 0 such as "5\.00", or "" to turn the check off/,
    );
  });

  test("more than all requests, and more addresses than are distinguished", () => {
    expect(() => guardWith({ unusualUseErrorPercent: 101 })).toThrow(
      /^unusual_use\.error_percent must be a whole number up to 100, or 0/,
    );
    expect(() => guardWith({ unusualUseClientAddresses: 1_001 })).toThrow(
      /^unusual_use\.client_addresses must be a whole number up to 1000, or 0/,
    );
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
});
