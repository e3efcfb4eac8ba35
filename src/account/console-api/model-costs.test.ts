import { describe, expect, test } from "vitest";

import type { Catalog, Deployment, ListedModel, PriceSheet } from "../../catalog/catalog.ts";
import type { ModelId, ProviderId } from "../../kernel/core/ids.ts";
import { microUsd } from "../../kernel/core/money.ts";
import type { Usage } from "../../kernel/core/usage.ts";
import type { SizedTokens } from "../../gateway/records/tokens-by-size.ts";
import type { UsageReport } from "../../gateway/records/report-query.ts";
import { collectBounds, modelCosts } from "./model-costs.ts";

function sheet(prompt: bigint, completion: bigint, tiers?: PriceSheet["tiers"]): PriceSheet {
  return {
    pinId: "pin",
    prompt,
    cachedPrompt: prompt,
    cacheWrite: prompt,
    completion,
    internalReasoning: completion,
    ...(tiers === undefined ? {} : { tiers }),
  };
}

function modelOf(id: string, listings: readonly Partial<Deployment>[], more: object = {}) {
  const modality = "text";
  const deployments = listings.map((each, at) => ({
    id: `p${at}/${id}`,
    providerId: `p${at}` as ProviderId,
    providerName: `Provider ${at}`,
    modelId: id as ModelId,
    modality,
    billing: "token",
    prices: sheet(1_000_000n, 2_000_000n),
    ...each,
    ...more,
  }));
  const shown = { id, displayName: id.toUpperCase(), modality, inputModalities: ["text"] };
  return { ...shown, deployments, ...more } as unknown as ListedModel;
}

function catalogOf(...models: readonly ListedModel[]): Catalog {
  return {
    models,
    deployments: models.flatMap(({ deployments }) => deployments),
    find: (id: string) => models.find((each) => each.id === id),
  } as unknown as Catalog;
}

function used(prompt: number, completion = 0): Usage {
  return { prompt, cachedPrompt: 0, cacheWrite: 0, completion, internalReasoning: 0 };
}

const ALL_SUCCEEDED = {
  succeeded: 3,
  rejected_by_gateway: 0,
  rejected_by_provider: 0,
  failed: 0,
  cancelled: 0,
  in_flight: 0,
};

function group(name: string, usage: Usage, debit = 5n): UsageReport["groups"][number] {
  const figures = { requests: 3, byStatus: ALL_SUCCEEDED, debitMicroUsd: microUsd(debit), usage };
  return { group: name, figures: { ...figures, firstByteP50Ms: null, firstByteP95Ms: null } };
}

function sized(modelId: string, usage: Usage, at: Partial<SizedTokens> = {}): SizedTokens {
  const none = { promptAbove: 0, totalAbove: 0, isOwnKey: false, attempts: 1 };
  return { modelId, providerId: "acme", ...none, debitMicroUsd: microUsd(7n), usage, ...at };
}

const TIERED = sheet(1_000_000n, 2_000_000n, [
  { abovePromptTokens: 200, prices: sheet(2_000_000n, 4_000_000n) },
]);
const plain = modelOf("plain", [
  { contextLength: 1_000 },
  { prices: sheet(3_000_000n, 3_000_000n) },
]);
const long = modelOf("long", [{ prices: TIERED, contextLength: 5_000 }]);
const reads = modelOf("reads", [{}], { inputModalities: ["text", "image", "file"] });
const film = modelOf("film", [{}], { modality: "video" });
const billed = modelOf("billed", [{ billing: "reported_cost" }]);
const catalog = catalogOf(plain, long, reads, film, billed);
const bounds = collectBounds([plain, long]);

function costsOf(ids: readonly string[], use: Parameters<typeof modelCosts>[1]) {
  const models = ids.flatMap((id) => catalog.find(id) ?? []);
  return modelCosts({ catalog, ids, models }, use);
}

test("the size bounds of a comparison are the models' price tiers and contexts", () => {
  expect(bounds).toEqual({ promptTokens: [200], totalTokens: [1_000, 5_000] });
  expect(collectBounds([reads])).toEqual({ promptTokens: [], totalTokens: [] });
});

function listing(at: number, cost: object): object {
  return { provider: `p${at}`, name: `Provider ${at}`, is_at_least: false, ...cost };
}

describe("with the size of each prompt known", () => {
  const groups = [group("plain", used(1_500, 10), 70n), group("gone", used(100), 5n)];
  const known = [
    sized("plain", used(150, 10)),
    sized("plain", used(1_350), { promptAbove: 1, totalAbove: 1, attempts: 2 }),
    sized("gone", used(100)),
  ];
  const costs = costsOf(["plain", "long"], { groups, sized: known, bounds });

  test("each request is priced exactly, by the size of its own prompt", () => {
    expect(costs.models.map(({ listings }) => listings)).toEqual([
      [
        listing(0, { cost_usd: "0.001620", too_long: 2 }),
        listing(1, { cost_usd: "0.004830", too_long: 0 }),
      ],
      // 250 prompt and 10 completion tokens in the lower tier, 1,350 prompt tokens in the upper.
      [listing(0, { cost_usd: "0.002970", too_long: 0 })],
    ]);
  });

  test("usage of a model that is no longer listed counts as chat traffic", () => {
    expect(costs.traffic).toMatchObject({
      requests: 4,
      spent_usd: "0.000021",
      tokens: { prompt: 1_600, completion: 10 },
      models: [
        { model: "plain", requests: 3, spent_usd: "0.000014" },
        { model: "gone", requests: 1, spent_usd: "0.000007" },
      ],
    });
    expect(costs.not_counted).toEqual([]);
    expect(costs.is_by_request).toBe(true);
  });

  test("requests with the customer's own provider key are listed as not counted, and not priced", () => {
    const own = sized("plain", used(1_000_000), { isOwnKey: true, attempts: 7 });
    const use = { groups, sized: [...known, own], bounds };
    const withOwn = costsOf(["plain", "long"], use);
    expect(withOwn.not_counted).toEqual([{ model: "plain", requests: 7, reason: "own_key" }]);
    expect(withOwn.traffic).toEqual(costs.traffic);
    expect(withOwn.models).toEqual(costs.models);
  });
});

describe("with the size of each prompt unknown", () => {
  const groups = [group("plain", used(1_600, 10)), group("gone", used(100))];
  const costs = costsOf(["plain", "long"], { groups, sized: undefined, bounds });

  test("a tier gives a lower bound, a flat price an exact cost, and too_long is null", () => {
    expect(costs.models.map(({ listings }) => listings[0])).toEqual([
      listing(0, { cost_usd: "0.001620", too_long: null }),
      listing(0, { cost_usd: "0.001620", too_long: null, is_at_least: true }),
    ]);
  });

  test("usage of a model that is no longer listed is listed as not counted", () => {
    expect(costs.not_counted).toEqual([{ model: "gone", requests: 3, reason: "unlisted" }]);
    expect(costs.traffic.requests).toBe(3);
  });
});

test("usage of a video model, and the group of other models if sizes are unknown, is listed as not counted", () => {
  const groups = [
    group("film", used(9)),
    group("other", used(9)),
    group("none", used(0), 0n),
    group("plain", used(1)),
  ];
  const ofFilm = { model: "film", requests: 3, reason: "modality" };
  const bySize = costsOf(["plain"], { groups, sized: [sized("plain", used(1))], bounds });
  expect(bySize.not_counted).toEqual([ofFilm]);
  const ofSums = costsOf(["plain"], { groups, sized: undefined, bounds });
  expect(ofSums.not_counted).toEqual([ofFilm, { model: "other", requests: 3, reason: "too_many" }]);
  for (const { traffic } of [bySize, ofSums]) expect(traffic.tokens).toMatchObject({ prompt: 1 });
  expect([bySize.is_by_request, ofSums.is_by_request]).toEqual([true, false]);
});

test("a model that cannot be compared is listed with the obstacle", () => {
  const costs = costsOf(["nope", "film", "billed"], { groups: [], sized: [], bounds });
  expect(costs.models.map(({ obstacle }) => obstacle)).toEqual(["not_listed", "modality", null]);
  expect(costs.models[2]?.listings[0]?.cost_usd).toBeNull();
});

test("a model's estimate names the input kinds it lacks and the requests to models that accept them", () => {
  const use = { groups: [group("reads", used(1))], sized: [sized("reads", used(1))], bounds };
  const [none, own] = costsOf(["plain", "reads"], use).models;
  expect(none?.may_lack).toEqual([{ model: "reads", parts: ["image", "file"], requests: 1 }]);
  expect(own?.may_lack).toEqual([]);
});
