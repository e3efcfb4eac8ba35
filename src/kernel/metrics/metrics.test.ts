import { expect, test } from "vitest";

import { hasPromtool, promtoolComplaints } from "../../../test/support/promtool.ts";
import { GatewayMetrics } from "../../gateway/index.ts";
import type { Deployment } from "../../catalog/index.ts";
import { microUsd, picoUsd } from "../core/money.ts";
import { ZERO_USAGE } from "../core/usage.ts";
import type { AttemptResult } from "../../upstream/index.ts";
import { type Family, HistogramFamily, ListingFold, ReadFamily } from "./family.ts";
import { METRICS } from "./metrics-table.ts";

const STREAMED = {
  durationMs: 900,
  firstOutputMs: 100,
  failure: undefined,
  bridge: undefined,
} as unknown as AttemptResult;

function listing(at: number): Deployment {
  return { providerId: "prov", modelId: `m-${at}`, modality: "text" } as unknown as Deployment;
}

function textOf(metrics: GatewayMetrics): string {
  return metrics
    .families()
    .map((family) => shownBy(family))
    .join("");
}

function shownBy(family: Family, form: "classic" | "openmetrics" = "classic"): string {
  return [...family.parts(form)].join("");
}

function seriesOf(text: string, name: string): readonly string[] {
  return text.split("\n").filter((line) => line.startsWith(`${name}{`));
}

test("each metric has series for 1,000 of 2,000 listings, and one series called other", () => {
  const metrics = new GatewayMetrics();
  const usage = { ...ZERO_USAGE, prompt: 1, completion: 9 };
  const costPicoUsd = picoUsd(3_000_000n);
  const settlement = { usage, basis: "reported", costPicoUsd } as const;
  const ended = { result: STREAMED, settlement, reserveMicroUsd: microUsd(1n) };
  for (let at = 0; at < 2_000; at += 1) {
    metrics.attempt(listing(at), STREAMED);
    metrics.attemptSettled(listing(at), ended);
    metrics.settled(`m-${at}`, microUsd(1n));
  }
  const text = textOf(metrics);
  const histograms = [
    "tm_attempt_duration_seconds_count",
    "tm_first_output_seconds_count",
    "tm_output_token_seconds_count",
  ];
  for (const name of [...histograms, "tm_attempts_total", "tm_provider_cost_usd_total"]) {
    const series = seriesOf(text, name);
    expect(series, name).toHaveLength(1_001);
    const others = series.filter((line) => line.includes('provider="other",model="other"'));
    expect(others, name).toHaveLength(1);
  }
  const [others] = seriesOf(text, "tm_attempt_duration_seconds_count").slice(-1);
  expect(others).toBe('tm_attempt_duration_seconds_count{provider="other",model="other"} 1000');
  expect(text).toContain("\ntm_metrics_folded_total 1000\n");
  expect(seriesOf(text, "tm_debited_usd_total")).toHaveLength(1_001);
  expect(seriesOf(text, "tm_overrun_usd_total")[0]).toContain(" 0.000002");
});

test("in a metric of all listings, listings in use are the first to get a series of their own", () => {
  const fold = new ListingFold(2);
  fold.place("prov", "used");
  const shown = fold.forAll(["a", "b", "used"].map((modelId) => ({ providerId: "prov", modelId })));
  expect(shown.map(([labels]) => labels.join("|"))).toEqual(["prov|a", "other|other", "prov|used"]);
});

test("a value equal to a bound counts in its bucket, and one above all bounds in the last", () => {
  const family = new HistogramFamily("tm_overhead_seconds");
  const series = family.of("/v1/x");
  for (const value of [0.0005, 0.00051, 3, 3.1]) series.observe(value);
  const count = (bound: string): number | undefined => {
    const line = shownBy(family)
      .split("\n")
      .find((each) => each.includes(`le="${bound}"`));
    return line === undefined ? undefined : Number(line.split(" ").at(-1));
  };
  expect([count("0.0005"), count("0.001"), count("3.0"), count("+Inf")]).toEqual([1, 2, 3, 4]);
});

test("a kept trace is shown with the bucket of its value, and only in OpenMetrics", () => {
  const family = new HistogramFamily("tm_overhead_seconds");
  family.of("/v1/x").observe(0.002, { traceId: "0af7651916cd43dd8448eb211c80319c", atMs: 1_500 });
  expect(shownBy(family)).not.toContain("trace_id");
  expect(shownBy(family, "openmetrics")).toContain(
    'le="0.0025"} 1 # {trace_id="0af7651916cd43dd8448eb211c80319c"} 0.002 1.500\n',
  );
});

test("a counter whose label values are all known is shown as 0 before its first sample", () => {
  const faults = new ReadFamily("tm_ledger_faults_total", () => [[["close", "busy"], 2]]);
  const text = shownBy(faults);
  expect(seriesOf(text, "tm_ledger_faults_total")).toHaveLength(9);
  expect(text).toContain('{lane="reserve",kind="rejected"} 0\n');
  expect(text).toContain('{lane="close",kind="busy"} 2\n');
});

test("a label's text cannot break out of its quotes", () => {
  const family = new ReadFamily("tm_catalog_info", () => [[['a"b\\c\nd'], 1]]);
  expect(shownBy(family)).toContain('tm_catalog_info{build_id="a\\"b\\\\c\\nd"} 1\n');
});

test.skipIf(!hasPromtool)("promtool accepts the name, type and help of every metric", () => {
  const heads = Object.entries(METRICS).map(([name, { type, help }]) => {
    const samples =
      type === "histogram"
        ? `${name}_bucket{le="+Inf"} 1\n${name}_sum 1\n${name}_count 1\n`
        : `${name} 1\n`;
    return `# HELP ${name} ${help.replaceAll("\\", "")}\n# TYPE ${name} ${type}\n${samples}`;
  });
  expect(promtoolComplaints(heads.join(""))).toBe("");
});
