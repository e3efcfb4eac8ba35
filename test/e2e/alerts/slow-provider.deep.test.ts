import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { describe, expect, test } from "vitest";

import { ask } from "../../support/ask.ts";
import { until } from "../../support/books.ts";
import {
  simulatorManifest,
  textModel,
  withAccount,
  withGateway,
  withSimulator,
} from "../../support/gateway.ts";
import { hasPrometheus, startPrometheus } from "../../support/prometheus.ts";
import { SteadyTraffic } from "../../support/steady-traffic.ts";
import { startTcpProxy } from "../../support/tcp-proxy.ts";
import { withResource } from "../../support/with-resource.ts";

const MODEL = "test/two";
const FAST_MS = 60_000;
const FAST_PER_SECOND = 20;
/** Too few to change the day's 95th percentile, to which the alert compares the recent one. */
const SLOW_PER_SECOND = 3;
const SLOW_MS = 800;

function manifestOf(of: { provider: string; baseUrl?: string; priority?: number }): object {
  return simulatorManifest({ ...of, dialect: "wire_a", models: [textModel(MODEL)] });
}

describe.skipIf(!hasPrometheus)("an alert ends when its runbook is followed", () => {
  const provider = withSimulator();
  const road = withResource(() => {
    const { hostname, port } = new URL(provider.url);
    return startTcpProxy({ host: hostname, port: Number(port) });
  });
  const gateway = withGateway(() => ({
    settings: { orgRequestsPerMinute: 100_000, keyRequestsPerMinute: 100_000 },
    manifests: [
      manifestOf({ provider: "far", baseUrl: `http://127.0.0.1:${road.port}/a/v1` }),
      manifestOf({ provider: "near", priority: 1 }),
    ],
  }));
  const account = withAccount(gateway, "1000", { requestsPerMinute: 100_000 });
  const prometheus = withResource(() =>
    startPrometheus([new URL(gateway.running.internalUrl).host], { areShort: true }),
  );

  function traffic(perSecond: number): SteadyTraffic {
    const { key } = account;
    const asked = { key, wire: "wire_a", model: MODEL, text: "how long?", stream: true } as const;
    return new SteadyTraffic(perSecond, () => ask(gateway.url, asked));
  }

  /** Lowers the provider's priority in its manifest, which the gateway reloads by itself. */
  function rankLower(providerId: string): void {
    for (const name of readdirSync(gateway.config.manifestsDir)) {
      const file = join(gateway.config.manifestsDir, name);
      const text = readFileSync(file, "utf8");
      if (!text.includes(`"id":"${providerId}"`)) continue;
      writeFileSync(file, text.replace('"priority":0', '"priority":2'));
    }
  }

  test("TmProviderSlow: another provider of the model gets the better priority", async () => {
    const usual = traffic(FAST_PER_SECOND);
    await sleep(FAST_MS);
    await usual.stop();
    road.set({ delayMs: SLOW_MS });
    const slow = traffic(SLOW_PER_SECOND);
    try {
      await prometheus.untilFiring("TmProviderSlow");
      expect(gateway.simulator.counts().total).toBe(0);
      rankLower("far");
      await until("the other one is used", () => gateway.simulator.counts().total > 0);
      expect(await prometheus.untilQuiet("TmProviderSlow")).toEqual([]);
    } finally {
      await slow.stop();
    }
  });
});
