import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { beforeAll, describe, expect, test } from "vitest";

import { DASHBOARDS } from "../../../scripts/monitoring/dashboards.ts";
import { namedMetrics } from "../../../scripts/monitoring/named-metrics.ts";
import { GENAI_RULES, RECORDING_RULES } from "../../../scripts/monitoring/recording.ts";
import { ALERTS } from "../../../scripts/monitoring/rule-files.ts";
import { ask } from "../../support/ask.ts";
import { withAccount, withGateway } from "../../support/gateway.ts";
import { hasPrometheus, startPrometheus, type TestPrometheus } from "../../support/prometheus.ts";
import { SteadyTraffic } from "../../support/steady-traffic.ts";
import { withResource } from "../../support/with-resource.ts";

const GRAFANA = resolve(import.meta.dirname, "../../../deploy/grafana");
const TRAFFIC_MS = 60_000;
const TURNS = ["", "", " [[fault:status:500]]", " [[fault:no_usage]]"];

describe.skipIf(!hasPrometheus)("a real Prometheus after a minute of traffic", () => {
  const gateway = withGateway({
    settings: { orgRequestsPerMinute: 100_000, keyRequestsPerMinute: 100_000 },
  });
  const account = withAccount(gateway, "50", { requestsPerMinute: 10_000 });
  const prometheus = withResource(() =>
    startPrometheus([new URL(gateway.running.internalUrl).host]),
  );

  beforeAll(async () => {
    await gateway.backend.audit();
    let turn = 0;
    const traffic = new SteadyTraffic(10, () => {
      turn += 1;
      const text = `${turn}${TURNS[turn % TURNS.length] ?? ""}`;
      const model = turn % 2 === 0 ? "test/both" : "test/ba";
      const wire = turn % 3 === 0 ? "wire_b" : "wire_a";
      return ask(gateway.url, { key: account.key, wire, model, text, stream: turn % 5 > 1 });
    });
    await sleep(TRAFFIC_MS);
    await traffic.stop();
  });

  test.each(Object.keys(DASHBOARDS))(
    "has an answer for every query of the dashboard %s",
    async (id) => {
      const { panels } = JSON.parse(readFileSync(join(GRAFANA, `${id}.json`), "utf8")) as {
        readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
      };
      const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
      expect(queries.length).toBeGreaterThan(10);
      expect(await unanswered(prometheus, queries)).toEqual([]);
    },
  );

  test("has an answer for every rule, and every metric that an alert reads", async () => {
    const recorded = [...RECORDING_RULES, ...GENAI_RULES];
    const expressions = recorded.map(({ expr }) => expr);
    const names = recorded.map(({ record }) => record);
    const ofAlerts = Object.values(ALERTS).map(({ expr }) => expr);
    const metrics = ofAlerts.flatMap((expr) => [...namedMetrics(expr).keys()]);
    expect(await unanswered(prometheus, [...expressions, ...names, ...metrics])).toEqual([]);
    for (const expr of ofAlerts) await prometheus.query(expr);
    expect(await unanswered(prometheus, ["tm_requests_total == -1"])).not.toEqual([]);
    await expect(prometheus.query("rate(tm_requests_total)")).rejects.toThrow("parse error");
  });
});

/** The queries that return no data, except those of metrics that may be empty. */
async function unanswered(
  prometheus: TestPrometheus,
  queries: readonly string[],
): Promise<readonly string[]> {
  const empty: string[] = [];
  for (const query of new Set(queries)) {
    const mayBeEmpty = [...namedMetrics(query).values()].some((metric) => metric.mayBeEmpty);
    const answer = await prometheus.query(query.replaceAll("$__rate_interval", "30s"));
    if (answer.length === 0 && !mayBeEmpty) empty.push(query);
  }
  return empty;
}
