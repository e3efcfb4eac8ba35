import { describe, expect, test } from "vitest";

import { pricing } from "../../../test/fixtures/manifest/samples.ts";
import type { ManifestModel } from "../../catalog/index.ts";
import {
  buildSource,
  findDraft,
  importFor,
  findSkipCode,
  SNAPSHOTS,
} from "../../../test/fixtures/listing-sources/snapshots.ts";
import { type ImportResult, readSource } from "./import-listings.ts";

const { litellm, modelsDev, modelsDevLater, openRouter, genaiPrices } = SNAPSHOTS;

function codesOf(notes: readonly { readonly code: string }[]): string[] {
  return notes.map(({ code }) => code);
}

function listing(result: ImportResult, id: string): ManifestModel {
  const found = result.manifest?.models.find((model) => model.id === id);
  if (found === undefined) throw new Error(`${id} is not in the manifest`);
  return found;
}

describe("1: an output bound that is a copy of the input's", () => {
  test("of mistral-large-latest is not known", () => {
    const draft = findDraft(litellm, "mistral", "mistral/mistral-large-latest");
    expect(draft.maxOutputTokens).toBeUndefined();
    expect(codesOf(draft.notes)).toContain("output-bound-unknown");
    expect(draft.contextLength).toBeGreaterThan(0);
  });

  test("the legacy max_tokens is not read: deepseek-v4-pro has 8,192 under both names", () => {
    const draft = findDraft(litellm, "deepseek", "deepseek/deepseek-v4-pro");
    expect(draft.maxOutputTokens).toBe(8192);
    const { maxOutputTokens } = findDraft(modelsDev, "deepseek", "deepseek-v4-pro");
    // The bound is cut to the gateway's own maximum, because the source states 384,000.
    expect(maxOutputTokens).toBe(32_768);
    // The entry of perplexity/sonar has no output bound but `max_tokens`, which is not read.
    expect(findDraft(litellm, "perplexity", "perplexity/sonar").maxOutputTokens).toBeUndefined();
  });
});

test("2: an input limit is not the context: gpt-5 has the smaller of 272,000 and 400,000, not the sum", () => {
  expect(findDraft(litellm, "openai", "gpt-5").contextLength).toBe(272_000);
  expect(findDraft(modelsDev, "openai", "gpt-5").contextLength).toBe(400_000);
  const result = importFor("openai", litellm, [modelsDev]);
  expect(listing(result, "openai/gpt-5").context_length).toBe(272_000);
  const turned = importFor("openai", modelsDev, [litellm]);
  expect(listing(turned, "openai/gpt-5").context_length).toBe(272_000);
});

describe("3: tiers", () => {
  test("above_1hr_above_200k_tokens is the price of hour-long writes in the tier: claude-sonnet-4-5", () => {
    const read = { prompt: "3", cached_prompt: "0.3", completion: "15" };
    const long = { prompt: "6", cached_prompt: "0.6", completion: "22.5" };
    expect(findDraft(litellm, "anthropic", "claude-sonnet-4-5").prices).toEqual({
      sheet: { ...read, cache_write: "3.75", cache_write_1h: "6" },
      tiers: [
        {
          abovePromptTokens: 200_000,
          sheet: { ...long, cache_write: "7.5", cache_write_1h: "12" },
        },
      ],
    });
  });

  test("price ranges of qwen3-max become two tiers, and a source with a flat price stages it", () => {
    const { prices } = findDraft(litellm, "dashscope", "dashscope/qwen3-max");
    expect(prices.sheet.prompt).toBe("1.2");
    expect(prices.tiers.map((tier) => [tier.abovePromptTokens, tier.sheet.prompt])).toEqual([
      [32_000, "2.4"],
      [128_000, "3"],
    ]);
    expect(findDraft(modelsDev, "alibaba", "qwen3-max").prices.tiers).toEqual([]);
    const result = importFor("qwen", litellm, [modelsDev]);
    expect(result.staged).toContain("qwen/qwen3-max");
    const terms = result.manifest?.listing_terms?.["qwen/qwen3-max"];
    expect(terms?.staged_because).toContain("sources-differ");
  });

  test("the tier of gpt-5.4 begins at 272,000, not at the 200,000 of models.dev's context_over_200k", () => {
    const { tiers } = findDraft(modelsDev, "openai", "gpt-5.4").prices;
    expect(tiers.map((tier) => tier.abovePromptTokens)).toEqual([272_000]);
  });
});

test("4: a tier prices the whole request, output included: gemini-2.5-pro", () => {
  const result = importFor("google", litellm, [modelsDev, openRouter]);
  const tiers = result.manifest?.listing_terms?.["google/gemini-2.5-pro"]?.price_tiers;
  expect(tiers?.[0]).toMatchObject({ above_prompt_tokens: 200_000 });
  const long = { prompt: "2.5", cached_prompt: "0.25", completion: "15" };
  expect(tiers?.[0]?.pricing).toEqual(pricing(long));
});

describe("5: cache writes", () => {
  test("a price of 0 beside a paid prompt means no extra fee: deepseek-v4-pro has no cache_write", () => {
    const draft = findDraft(litellm, "deepseek", "deepseek/deepseek-v4-pro");
    expect(draft.prices.sheet.cache_write).toBeUndefined();
    expect(codesOf(draft.notes)).toContain("no-extra-fee");
  });

  test("a write price below the prompt's that one source states is left out: gemini-3.6-flash", () => {
    expect(
      findDraft(openRouter, "google", "google/gemini-3.6-flash").prices.sheet.cache_write,
    ).toBe("0.083334");
    const result = importFor("google", litellm, [openRouter]);
    const types = listing(result, "google/gemini-3.6-flash").pricing.map(({ type }) => type);
    expect(types).not.toContain("cache_write");
  });
});

describe("6: dated prices", () => {
  test("claude-sonnet-5 costs $2 per million prompt tokens until September, then $3", () => {
    const result = importFor("anthropic", litellm, [modelsDev, genaiPrices]);
    const terms = result.manifest?.listing_terms?.["anthropic/claude-sonnet-5"];
    const { pricing: sold } = listing(result, "anthropic/claude-sonnet-5");
    expect(sold.find(({ type }) => type === "prompt")?.cost_usd_per_million).toBe("2");
    const changed = { prompt: "3", cached_prompt: "0.3", cache_write: "3.75", completion: "15" };
    expect(terms?.price_changes).toMatchObject([
      {
        from: "2026-09-01T00:00:00Z",
        pricing: pricing(changed),
        extra_pricing: { cache_write_1h: "6" },
      },
    ]);
    // A rise is adopted even if only one source announces it.
    expect(terms?.staged_because ?? []).not.toContain("dated");
  });

  test("a change dated before the source itself is already in its prices: o3, claude-opus-4-6", () => {
    const o3 = findDraft(genaiPrices, "openai", "o3");
    expect(o3.prices.sheet).toMatchObject({ prompt: "2", completion: "8" });
    expect(o3.changes).toEqual([]);
    expect(findDraft(genaiPrices, "anthropic", "claude-opus-4-6").prices.tiers).toEqual([]);
  });
});

test.each(["deepseek-v4-pro", "deepseek-v4-flash"])(
  "7: %s, whose price depends on the time of day, is staged, whatever the rate",
  (name) => {
    for (const source of [litellm, modelsDev, modelsDevLater]) {
      const result = importFor("deepseek", source);
      const terms = result.manifest?.listing_terms?.[`deepseek/${name}`];
      expect(terms?.staged_because).toContain("time-of-day");
    }
  },
);

describe("8: rounding noise, free and variable prices", () => {
  test("Databricks' 0.0000029999900000000002 is 2.99999", () => {
    const draft = findDraft(litellm, "databricks", "databricks/databricks-claude-sonnet-4");
    expect(draft.prices.sheet.prompt).toBe("2.99999");
    expect(codesOf(draft.notes)).toContain("price-noise");
  });

  test("entries priced at 0 are skipped as free: ollama", () => {
    const readings = readSource("litellm", litellm.document, {
      provider: "ollama",
      dated: litellm.dated,
    });
    const skips = readings.map((each) => (each.kind === "skipped" ? each.note.code : ""));
    expect(skips).toContain("free");
  });

  test("-1 is a price that varies: openrouter/pareto-code", () => {
    expect(findSkipCode(openRouter, "*", "openrouter/pareto-code")).toBe("variable-price");
  });
});

describe("9: other units", () => {
  test("audio is taken only at the prompt's price: gemini-2.5-flash's is three times that", () => {
    for (const [source, provider, name] of [
      [litellm, "gemini", "gemini/gemini-2.5-flash"],
      [modelsDev, "google", "gemini-2.5-flash"],
      [openRouter, "google", "google/gemini-2.5-flash"],
    ] as const) {
      const draft = findDraft(source, provider, name);
      expect(draft.inputs?.has("audio")).toBe(false);
      expect(draft.inputs?.has("image")).toBe(true);
      expect(codesOf(draft.notes)).toContain("other-unit");
    }
    expect(findDraft(openRouter, "google", "google/gemini-3.6-flash").inputs?.has("audio")).toBe(
      true,
    );
  });

  test("batches, flex, priority and regions set no price: gpt-5.4", () => {
    const draft = findDraft(litellm, "openai", "gpt-5.4");
    expect(draft.prices.sheet).toEqual({ prompt: "2.5", completion: "15", cached_prompt: "0.25" });
    const message = draft.notes.find(({ code }) => code === "other-unit")?.message ?? "";
    expect(message).toContain("input_cost_per_token_batches");
    expect(message).toContain("regional_processing_uplift_multiplier_eu");
  });

  test.each([
    ["litellm", "perplexity", "perplexity/sonar"],
    ["openRouter", "perplexity", "perplexity/sonar-pro"],
    ["litellm", "openai", "gpt-4o-search-preview"],
  ] as const)("a model with a fee per request is staged (case %#)", (source, provider, name) => {
    const draft = findDraft(SNAPSHOTS[source], provider, name);
    expect(draft.stagedBecause).toContain("request-fee");
  });
});

describe("10: retired models, and models that do not chat", () => {
  test.each([
    ["litellm", "anthropic", "claude-3-7-sonnet-20250219", "retired"],
    ["litellm", "openai", "gpt-5-pro", "other-endpoint"],
    ["modelsDev", "openai", "gpt-5.2-codex", "other-endpoint"],
    ["modelsDev", "openai", "text-embedding-3-large", "not-chat"],
    ["openRouter", "google", "google/lyria-3-pro-preview", "not-chat"],
    ["litellm", "openai", "gpt-audio", "not-chat"],
  ] as const)("in %s, %s %s is skipped as %s", (source, provider, name, code) => {
    expect(findSkipCode(SNAPSHOTS[source], provider, name)).toBe(code);
  });

  test("2098-12-31 is no deprecation date: glm-5-turbo has none, gpt-5.3-chat has its own", () => {
    expect(findDraft(openRouter, "*", "z-ai/glm-5-turbo").deprecationDate).toBeUndefined();
    expect(findDraft(openRouter, "*", "openai/gpt-5.3-chat").deprecationDate).toBe("2026-08-10");
  });

  test("a model that does not chat by one source is not listed from another: gpt-5.4-pro", () => {
    const { manifest } = importFor("openai", litellm, [modelsDev, openRouter, genaiPrices]);
    const ids = manifest?.models.map(({ id }) => id) ?? [];
    expect(ids).toContain("openai/gpt-5.4");
    for (const id of ["openai/gpt-5.4-pro", "openai/gpt-5-pro", "openai/o3-mini-high"]) {
      expect(ids).not.toContain(id);
    }
  });
});

describe("11: ids", () => {
  const INEXPRESSIBLE = "id-not-expressible";
  test.each([
    ["openRouter", "*", "~anthropic/claude-opus-latest", "alias"],
    ["openRouter", "*", "openai/gpt-oss-20b:free", INEXPRESSIBLE],
    ["litellm", "vertex_ai-anthropic_models", "vertex_ai/claude-opus-4-5@20251101", INEXPRESSIBLE],
    ["modelsDev", "ollama-cloud", "gemma3:12b", "no-price"],
  ] as const)("in %s, %s %s is skipped as %s", (source, provider, name, code) => {
    expect(findSkipCode(SNAPSHOTS[source], provider, name)).toBe(code);
  });

  test("an alias that moves and a name with a date get no listing of their own", () => {
    const result = importFor("mistral", litellm);
    expect(result.skipped).toContain("mistral/mistral-large-latest");
    const gpt = importFor("openai", litellm);
    expect(gpt.skipped).toContain("gpt-5-2025-08-07");
    expect(gpt.listed).not.toContain("openai/gpt-5-2025-08-07");
    const claude = importFor("anthropic", litellm, [modelsDev]);
    expect(claude.skipped).toContain("claude-opus-4-5-20251101");
    expect(listing(claude, "anthropic/claude-opus-4.5").upstream_id).toBe("claude-opus-4-5");
  });

  test("a short name of Fireworks stands for the name by which Fireworks serves the model", () => {
    const names = readSource("litellm", litellm.document, {
      provider: "fireworks_ai",
      dated: litellm.dated,
    }).flatMap((each) => (each.kind === "draft" ? [each.draft] : []));
    const long = new Set(
      names.flatMap(({ name, upstreamId }) => {
        return name.endsWith(`/${upstreamId}`) ? [upstreamId] : [];
      }),
    );
    const short = names.filter(({ name }) => !name.includes("accounts/"));
    expect(short.length).toBeGreaterThan(10);
    expect(short.map(({ upstreamId }) => upstreamId).filter((each) => !long.has(each))).toEqual([]);
  });

  test("a short name of Fireworks that ends in -us is a router only where the list has the router", () => {
    const models = ["accounts/fireworks/models/a-us", "accounts/fireworks/routers/b-us"];
    const prices = { input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 };
    const entries = ["a-us", "b-us", ...models].map((name) => [
      `fireworks_ai/${name}`,
      { litellm_provider: "fireworks_ai", mode: "chat", ...prices },
    ]);
    const text = JSON.stringify(Object.fromEntries(entries));
    const { document } = buildSource("litellm", litellm.dated, text);
    const provider = "fireworks_ai";
    const read = readSource("litellm", document, { provider, dated: litellm.dated });
    const ids = read.map((each) => (each.kind === "draft" ? each.draft.upstreamId : each.note));
    expect(ids).toEqual([...models, ...models]);
  });

  test("one open model has one id at all its hosts, and an unknown one only its provider's", () => {
    for (const provider of ["groq", "cerebras", "together", "fireworks", "deepinfra"]) {
      const ids = importFor(provider, litellm).manifest?.models.map(({ id }) => id) ?? [];
      expect(ids).toContain("openai/gpt-oss-120b");
    }
    const { manifest } = importFor("deepinfra", litellm);
    const ids = manifest?.models.map(({ id }) => id) ?? [];
    expect(ids).toContain("deepinfra/Gryphe/MythoMax-L2-13b");
  });
});

test.each([
  ["moonshot", "moonshotai/kimi-k3"],
  ["anthropic", "anthropic/claude-opus-5.5"],
])(
  "12: a listing of %s whose base model is missing in the source is staged: %s",
  (provider, id) => {
    const result = importFor(provider, modelsDevLater);
    expect(result.manifest?.listing_terms?.[id]?.staged_because).toContain("no-limit");
  },
);
