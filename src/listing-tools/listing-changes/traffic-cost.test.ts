import { expect, test } from "vitest";

import type { Manifest } from "../../catalog/manifest/index.ts";
import { createOrgId } from "../../kernel/core/ids.ts";
import { ZERO_USAGE } from "../../kernel/core/usage.ts";
import { costOfTraffic, type ModelUse } from "./traffic-cost.ts";

const NOW_MS = Date.parse("2026-11-23T12:00:00Z");
const [alpha, beta] = [createOrgId(), createOrgId()];

type Terms = Manifest["listing_terms"];

function manifest(prices: Record<string, [string, string]>, terms: Terms = {}): Manifest {
  return {
    manifest_version: "1",
    provider: {
      id: "acme",
      name: "Acme",
      privacy_policy_url: "https://acme.example/privacy",
      prompt_logging: "none",
    },
    endpoint: { base_url: "https://api.acme.example/v1", dialect: "wire_a" },
    settlement: { mode: "arrears", interval: "monthly" },
    models: Object.entries(prices).map(([id, costs]) => ({ id, pricing: pricing(costs) })),
    listing_terms: terms,
  };
}

function pricing([prompt, completion]: [string, string]) {
  const unit = "token" as const;
  return [
    { type: "prompt" as const, unit, cost_usd_per_million: prompt },
    { type: "completion" as const, unit, cost_usd_per_million: completion },
  ];
}

const uses: readonly ModelUse[] = [
  { orgId: alpha, modelId: "acme/a", usage: { ...ZERO_USAGE, prompt: 3, internalReasoning: 1 } },
  { orgId: beta, modelId: "acme/a", usage: { ...ZERO_USAGE, cachedPrompt: 1_000_001 } },
  { orgId: beta, modelId: "acme/b", usage: { ...ZERO_USAGE, completion: 7 } },
  { orgId: alpha, modelId: "acme/gone", usage: { ...ZERO_USAGE, prompt: 1 } },
];
const before = manifest({
  "acme/a": ["0.000001", "1"],
  "acme/b": ["1", "1"],
  "acme/gone": ["1", "1"],
});

test("tokens of every organization are priced at both, exactly", () => {
  const after = manifest({ "acme/a": ["0.000002", "2"], "acme/b": ["1", "0.5"] });
  const cost = costOfTraffic(uses, { before, after, nowMs: NOW_MS });
  expect(cost.organizations).toEqual([
    { orgId: alpha, old: 1_000_003n, new: 2_000_006n, later: 2_000_006n },
    { orgId: beta, old: 1_000_001n + 7_000_000n, new: 2_000_002n + 3_500_000n, later: 5_500_002n },
  ]);
  expect(cost.total).toEqual({ old: 9_000_004n, new: 7_500_008n, later: 7_500_008n });
});

test("what only one of the manifests prices is named and in no sum", () => {
  const after = manifest({ "acme/b": ["1", "1"] });
  const cost = costOfTraffic(uses, { before, after, nowMs: NOW_MS });
  expect(cost.notPriced).toEqual(["acme/a", "acme/gone"]);
  expect(cost.organizations).toEqual([
    { orgId: beta, old: 7_000_000n, new: 7_000_000n, later: 7_000_000n },
  ]);
});

test("an announced price is what it costs later, not now", () => {
  const after = manifest(
    { "acme/b": ["1", "1"] },
    {
      "acme/b": {
        price_changes: [
          { from: "2026-12-01T00:00:00Z", pricing: pricing(["1", "2"]) },
          { from: "2027-12-01T00:00:00Z", pricing: pricing(["1", "3"]) },
        ],
      },
    },
  );
  const cost = costOfTraffic(uses, { before, after, nowMs: NOW_MS });
  expect(cost.total).toEqual({ old: 7_000_000n, new: 7_000_000n, later: 21_000_000n });
});

test("cache writes of an hour cost what they are priced at, or what any write costs", () => {
  const usage = { ...ZERO_USAGE, cacheWrite: 5, cacheWrite1h: 2 };
  const used: readonly ModelUse[] = [{ orgId: alpha, modelId: "acme/b", usage }];
  const extra = { "acme/b": { extra_pricing: { cache_write_1h: "2" } } };
  const after = manifest({ "acme/b": ["1", "1"] }, extra);
  const { total } = costOfTraffic(used, { before, after, nowMs: NOW_MS });
  expect([total.old, total.new]).toEqual([5_000_000n, 7_000_000n]);
});

test("a model with prices by prompt size is named, as sums do not say sizes", () => {
  const tier = { above_prompt_tokens: 9, pricing: pricing(["9", "9"]) };
  const after = manifest({ "acme/b": ["1", "1"] }, { "acme/b": { price_tiers: [tier] } });
  const cost = costOfTraffic(uses, { before, after, nowMs: NOW_MS });
  expect(cost).toMatchObject({ tiered: ["acme/b"], total: { new: 7_000_000n } });
});
