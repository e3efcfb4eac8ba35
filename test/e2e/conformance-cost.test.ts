import { describe, expect, test } from "vitest";

import { expectedCosts } from "../../src/listing-tools/conformance/expected-cost.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import { type Host, HOSTS, manifestAt, runAgainst } from "../support/conformance-run.ts";

const SMALL_MODEL = [
  { type: "prompt", unit: "token", cost_usd_per_million: "0.15" },
  { type: "completion", unit: "token", cost_usd_per_million: "0.6" },
];

function expectedUsd(host: Host): number {
  const outcome = expectedCosts({
    manifestText: manifestAt({ ...host, baseUrl: "http://127.0.0.1:1/v1" }),
    file: host.manifest,
    env: { SIMULATOR_KEY: "a-good-key" },
    clock: systemClock,
    models: [],
  });
  if (!outcome.ok) throw new Error(outcome.problems.join("\n"));
  return Number(outcome.costs.expected_usd);
}

describe.concurrent("the estimate of a run's cost is 0.7 to 1.5 times its real cost", () => {
  test.each(HOSTS)("$name", async (host) => {
    const { report } = await runAgainst(host);
    const spent = Number(report.spend_usd);
    const expected = expectedUsd(host);
    expect(expected).toBeGreaterThan(0.7 * spent);
    expect(expected).toBeLessThan(1.5 * spent);
  });
});

describe.concurrent(
  "a whole run of a chat listing costs less than a cent at a small model's prices",
  () => {
    test.each(HOSTS.filter(({ modality }) => modality === "text"))("$name", async (host) => {
      const small = { ...host, listing: { ...host.listing, pricing: SMALL_MODEL } };
      const { report } = await runAgainst(small);
      expect(Number(report.spend_usd)).toBeLessThan(0.01);
      expect(expectedUsd(small)).toBeLessThan(0.01);
    });
  },
);
