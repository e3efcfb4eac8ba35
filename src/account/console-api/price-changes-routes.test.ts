import { expect, test } from "vitest";

import type { Catalog, Deployment, ListedModel, PriceSheet } from "../../catalog/catalog.ts";
import type { ModelId, OrgId, ProviderId } from "../../kernel/core/ids.ts";
import { ZERO_MICRO_USD } from "../../kernel/core/money.ts";
import { type Usage, ZERO_USAGE } from "../../kernel/core/usage.ts";
import type { SizedTokens } from "../../gateway/records/tokens-by-size.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { changeBounds, comingChanges, priceNotice, readNotices } from "./price-changes-routes.ts";

const NOW_MS = Date.parse("2026-11-23T12:00:00Z");
const DAY_MS = 86_400_000;

function sheet(prompt: bigint, completion: bigint, more: Partial<PriceSheet> = {}): PriceSheet {
  return {
    pinId: `pin ${prompt} ${completion}`,
    prompt,
    cachedPrompt: prompt,
    cacheWrite: prompt,
    completion,
    internalReasoning: completion,
    ...more,
  };
}

const TIER = { abovePromptTokens: 1_000, prices: sheet(3_000_000n, 4_000_000n) };

/** A catalog of one listing. Its first prices have always applied; the others begin a day apart. */
function catalogOf(prices: readonly PriceSheet[], change: Partial<Deployment> = {}): Catalog {
  const dated = prices.map((each, at) => ({
    fromMs: at === 0 ? Number.NEGATIVE_INFINITY : NOW_MS + at * DAY_MS,
    prices: each,
    defaultedSkus: [],
  }));
  const listing = {
    id: "acme/small",
    providerId: "acme" as ProviderId,
    providerName: "Acme",
    modelId: "small" as ModelId,
    modality: "text",
    billing: "token",
    prices: prices[0],
    datedPrices: dated,
    ...change,
  } as Deployment;
  const model = { id: "small", displayName: "Small", deployments: [listing] };
  return { models: [model as unknown as ListedModel] } as unknown as Catalog;
}

const OLD = sheet(1_000_000n, 2_000_000n);
const USED = { ...ZERO_USAGE, prompt: 100, completion: 7 };

function sized(promptAbove: number, prompt: number, isOwnKey = false): SizedTokens {
  const usage = { ...ZERO_USAGE, prompt };
  const counted = { attempts: 1, debitMicroUsd: ZERO_MICRO_USD, usage };
  const listing = { modelId: "small", providerId: "acme" };
  return { ...listing, isOwnKey, promptAbove, totalAbove: 0, ...counted };
}

test("only the next change of sale prices is announced, and a change of purchase prices is skipped", () => {
  const same = { ...OLD, pinId: "other purchase prices" };
  const rise = sheet(1_500_000n, 2_000_000n);
  const [change, ...more] = comingChanges(catalogOf([OLD, same, rise, OLD]), NOW_MS);
  expect(more).toEqual([]);
  expect(change?.fromMs).toBe(NOW_MS + 2 * DAY_MS);
  expect(comingChanges(catalogOf([OLD, same]), NOW_MS)).toEqual([]);
  // Two days later the rise is in force, and the next change is the return to the old price.
  const [later] = comingChanges(catalogOf([OLD, same, rise, OLD]), NOW_MS + 2 * DAY_MS);
  expect(later).toMatchObject({ fromMs: NOW_MS + 3 * DAY_MS, before: rise, after: OLD });
});

test("a listing that is not billed by the token has no price notice", () => {
  const catalog = catalogOf([OLD, sheet(9n, 9n)], { billing: "reported_cost" });
  expect(comingChanges(catalog, NOW_MS)).toEqual([]);
});

test("usage is priced at the old and the new prices, rounded down once", () => {
  const [change] = comingChanges(catalogOf([OLD, sheet(1_000_009n, 2_000_000n)]), NOW_MS);
  const use = { requests: 3, usage: USED, sized: undefined };
  expect(change && priceNotice(change, use, [])).toMatchObject({
    notice_id: `acme/small@${new Date(NOW_MS + DAY_MS).toISOString()}`,
    is_rise: true,
    requests: 3,
    cost_old_usd: "0.000114",
    cost_new_usd: "0.000114",
    is_at_least: false,
    old: { prices: { prompt: "1" } },
    new: { prices: { prompt: "1.000009" } },
  });
});

test("tiered prices apply by each prompt's size, or give a lower bound if the sizes are unknown", () => {
  const [change] = comingChanges(catalogOf([OLD, { ...OLD, tiers: [TIER] }]), NOW_MS);
  if (change === undefined) throw new Error("no change");
  expect(changeBounds([change])).toEqual([1_000]);
  const bounds = [500, 1_000];
  const known = [sized(0, 100), sized(1, 600), sized(2, 2_000), sized(2, 9_000, true)];
  const usage = { ...ZERO_USAGE, prompt: 2_700 };
  expect(priceNotice(change, { requests: 3, usage, sized: known }, bounds)).toMatchObject({
    is_rise: true,
    cost_old_usd: "0.002700",
    cost_new_usd: "0.006700",
    is_at_least: false,
    new: { price_tiers: [{ above_prompt_tokens: 1_000, prices: { prompt: "3" } }] },
  });
  expect(priceNotice(change, { requests: 3, usage, sized: undefined }, bounds)).toMatchObject({
    cost_new_usd: "0.002700",
    is_at_least: true,
  });
});

/** The reports of an organization for which each of these providers served the model `small`. */
function makeDeps(usage: Usage, providers: readonly string[], rows: readonly SizedTokens[]) {
  const groups = { model: ["small"], provider: providers };
  const figures = { requests: 2, usage };
  const reports = {
    report: (_filter: object, by: keyof typeof groups) =>
      Promise.resolve({ groups: groups[by].map((group) => ({ group, figures })) }),
    tokensBySize: () => Promise.resolve(rows),
  };
  return { reports, clock: { nowMs: () => NOW_MS } } as unknown as ConsoleDeps;
}

test("a price notice leaves out requests with an own key and those of other providers of the model", async () => {
  const changes = comingChanges(catalogOf([OLD, sheet(2_000_000n, 2_000_000n)]), NOW_MS);
  const ofOther = { ...sized(0, 5_000), providerId: "beta" };
  const rows = [sized(0, 100), sized(0, 600, true), ofOther];
  const deps = makeDeps({ ...ZERO_USAGE, prompt: 700 }, ["acme", "beta"], rows);
  expect(await readNotices(deps, "org" as OrgId, changes)).toMatchObject([
    { requests: 2, cost_old_usd: "0.000100", cost_new_usd: "0.000200", is_at_least: false },
  ]);
});

test("a price notice of an image model has the costs of its tokens, whose sizes are not read", async () => {
  const catalog = catalogOf([OLD, sheet(1_000_000n, 3_000_000n)], { modality: "image" });
  const deps = makeDeps({ ...ZERO_USAGE, completion: 700 }, ["acme"], []);
  const changes = comingChanges(catalog, NOW_MS);
  expect(await readNotices(deps, "org" as OrgId, changes)).toMatchObject([
    { requests: 2, cost_old_usd: "0.001400", cost_new_usd: "0.002100", is_at_least: false },
  ]);
});

test.each<[string, PriceSheet, PriceSheet, boolean]>([
  ["lower prices as no rise", OLD, sheet(1n, 1n), false],
  ["one higher and one lower price as a rise", OLD, sheet(1n, 2_000_001n), true],
  [
    "a new 1-hour cache write price above the cache write price as a rise",
    OLD,
    { ...OLD, cacheWrite1h: 1_000_001n },
    true,
  ],
  ["a removed price tier as no rise", { ...OLD, tiers: [TIER] }, OLD, false],
  ["an added price tier as a rise", OLD, { ...OLD, tiers: [TIER] }, true],
])("a price notice counts %s", (_what, before, after, isRise) => {
  const [change] = comingChanges(catalogOf([before, after]), NOW_MS);
  const use = { requests: 1, usage: USED, sized: undefined };
  expect(change && priceNotice(change, use, []).is_rise).toBe(isRise);
});
