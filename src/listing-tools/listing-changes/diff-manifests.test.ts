import { describe, expect, test } from "vitest";

import { pricing, smallManifest } from "../../../test/fixtures/manifest/samples.ts";
import type { Manifest, ManifestSku } from "../../catalog/manifest/index.ts";
import { diffManifests, type ListingDifference } from "./diff-manifests.ts";

const NOW_MS = Date.parse("2026-11-23T12:00:00Z");
const MIDNIGHT = "2027-01-01T00:00:00Z";

type Model = Manifest["models"][number];
type Terms = NonNullable<Manifest["listing_terms"]>[string];

const PARAMETERS = {
  temperature: { type: "range", min: 0, max: 2 },
  seed: { type: "integer" },
  effort: { type: "enum", values: ["low", "high"] },
} as const;

function listing(change: Partial<Model> = {}): Model {
  return {
    id: "acme/small",
    context_length: 100_000,
    max_output_tokens: 8_192,
    streaming: true,
    input_modalities: ["text", "image"],
    supported_parameters: PARAMETERS,
    pricing: pricing({ prompt: "1", completion: "4" }),
    ...change,
  };
}

interface Side {
  readonly model?: Partial<Model>;
  readonly terms?: Terms;
}

/** Compares two versions of one listing and its terms. */
function findDifference(before: Side, after: Side): ListingDifference | undefined {
  const made = ({ model, terms = {} }: Side): Manifest =>
    smallManifest([listing(model)], { "acme/small": terms });
  return diffManifests(made(before), made(after), NOW_MS).models[0];
}

const sold = (prices: Partial<Record<ManifestSku, string>>): { model: Partial<Model> } => ({
  model: { pricing: pricing(prices) },
});

const changing = (from: string, prices: Partial<Record<ManifestSku, string>>) => ({
  terms: { price_changes: [{ from, pricing: pricing(prices) }] },
});

const DEAR = { prompt: "2", completion: "4" };

function tierAbove(bound: number): Side {
  return { terms: { price_tiers: [{ above_prompt_tokens: bound, pricing: pricing(DEAR) }] } };
}

const INPUT_SKUS = ["prompt", "cached_prompt", "cache_write", "cache_write_1h"];
const OUTPUT_SKUS = ["completion", "internal_reasoning"];

function renderLines(found: ListingDifference | undefined): string[] {
  return (found?.prices ?? []).map((each) => {
    const where = `${each.sku} above ${each.above_prompt_tokens} from ${each.from ?? "now"}`;
    return `${where}: ${each.old} to ${each.new}, ${each.percent} %`;
  });
}

describe("prices of a listing", () => {
  test("a rise is dearer and a cut is cheaper, each with its percent", () => {
    const others = { cached_prompt: "0.1", cache_write: "1" };
    const found = findDifference(
      sold({ prompt: "1.25", completion: "4", ...others }),
      sold({ prompt: "1.5", completion: "3", ...others }),
    );
    expect(found).toMatchObject({ is_dearer: true, is_cheaper: true, is_less: false });
    const base = { above_prompt_tokens: 0, from: null };
    expect(found?.prices).toEqual([
      { sku: "prompt", ...base, old: "1.25", new: "1.5", percent: "+20" },
      { sku: "completion", ...base, old: "4", new: "3", percent: "-25" },
      { sku: "internal_reasoning", ...base, old: "4", new: "3", percent: "-25" },
    ]);
  });

  test.each<[string, Side, Side, string[]]>([
    [
      "a removed price falls back to its base price",
      sold({ prompt: "1", completion: "4", cached_prompt: "0.1" }),
      {},
      ["cached_prompt above 0 from now: 0.1 to 1, +900 %"],
    ],
    [
      "an added tier applies to prompts above its bound",
      {},
      tierAbove(50_000),
      INPUT_SKUS.map((sku) => `${sku} above 50000 from now: 1 to 2, +100 %`),
    ],
    [
      "an announced rise applies from its instant on",
      {},
      changing(MIDNIGHT, { prompt: "1", completion: "5" }),
      OUTPUT_SKUS.map((sku) => `${sku} above 0 from ${MIDNIGHT}: 4 to 5, +25 %`),
    ],
  ])("%s, and is dearer", (_what, before, after, lines) => {
    const found = findDifference(before, after);
    expect(renderLines(found)).toEqual(lines);
    expect(found?.is_dearer).toBe(true);
  });

  test("the same price written another way, or announced before, is no difference", () => {
    const written = sold({ prompt: "1.00", completion: "04", cache_write: "1.0" });
    expect(findDifference(sold({ prompt: "1", completion: "4" }), written)).toBeUndefined();
    const begun = findDifference(changing("2026-11-01T00:00:00Z", DEAR), sold(DEAR));
    expect(begun?.prices).toBeUndefined();
  });

  test("a rise that is brought forward is reported once, from its new instant", () => {
    const sooner = "2026-12-01T00:00:00Z";
    const found = findDifference(changing(MIDNIGHT, DEAR), changing(sooner, DEAR));
    expect(found?.prices[0]).toMatchObject({ sku: "prompt", from: sooner });
    expect(found?.prices.filter(({ sku }) => sku === "prompt")).toHaveLength(1);
  });

  test("a tier that begins at longer prompts is cheaper, and one at shorter prompts dearer", () => {
    const found = findDifference(tierAbove(20_000), tierAbove(50_000));
    expect(found).toMatchObject({ is_dearer: false, is_cheaper: true });
    expect(found?.prices[0]).toMatchObject({ above_prompt_tokens: 20_000, old: "2", new: "1" });
    expect(findDifference(tierAbove(50_000), tierAbove(20_000))?.is_dearer).toBe(true);
  });

  test("a raised line of a price card is dearer, and an added line is not", () => {
    const card = (cost: string): Partial<Model> => ({
      price_card: [{ unit: "image", variant: "hd", cost_usd: cost }],
    });
    expect(findDifference({ model: card("0.04") }, { model: card("0.040000001") })).toMatchObject({
      is_dearer: true,
      prices: [{ sku: "card image hd", old: "0.04", new: "0.040000001", percent: "+0.01" }],
    });
    expect(findDifference({}, { model: card("0.04") })).toMatchObject({ is_dearer: false });
  });
});

test.each<[string, Terms["image_tokens"], Terms["image_tokens"], string[]]>([
  ["a higher count", 100, 150, ["image_tokens: 100 to 150, +50 %"]],
  ["a count where an image cost nothing", undefined, 100, ["image_tokens: 0 to 100, null %"]],
  [
    "a size of a list",
    [{ size: "big", tokens: 200 }, { tokens: 100 }],
    [{ size: "big", tokens: 300 }, { tokens: 100 }],
    ["image_tokens big: 200 to 300, +50 %"],
  ],
  [
    "an earlier entry that fits",
    [{ quality: "low", tokens: 50 }, { tokens: 100 }],
    [{ tokens: 100 }, { quality: "low", tokens: 50 }],
    ["image_tokens low: 50 to 100, +100 %"],
  ],
])("%s of image_tokens is dearer, and the reverse is cheaper", (_what, old, next, lines) => {
  const side = (tokens: Terms["image_tokens"]): Side => ({
    terms: tokens === undefined ? {} : { image_tokens: tokens },
  });
  const found = findDifference(side(old), side(next));
  const shown = found?.prices.map((each) => {
    return `${each.sku}: ${each.old} to ${each.new}, ${each.percent} %`;
  });
  expect(shown).toEqual(lines);
  expect(found).toMatchObject({ is_dearer: true, is_less: false, facts: [] });
  const reverse = findDifference(side(next), side(old));
  expect(reverse).toMatchObject({ is_dearer: false, is_cheaper: true });
});

test("image_tokens written in another form or order is no difference", () => {
  const written = { terms: { image_tokens: [{ size: "big", tokens: 9 }, { tokens: 9 }] } };
  expect(findDifference({ terms: { image_tokens: 9 } }, written)).toBeUndefined();
});

describe("a reduced offer", () => {
  const { effort: _effort, ...withoutEffort } = PARAMETERS;
  const half = { type: "range", min: 0, max: 1 } as const;
  const low = { type: "enum", values: ["low"] } as const;
  test.each<[string, Partial<Model>]>([
    ["a smaller context", { context_length: 99_999 }],
    ["a smaller output bound", { max_output_tokens: 8_191 }],
    ["a removed input modality", { input_modalities: ["text"] }],
    ["a staged listing", { is_ready: false }],
    ["a deprecation date", { deprecation_date: "2027-01-01" }],
    ["a state that is billed for each question", { decisions_state_per_question: true }],
    ["a removed parameter", { supported_parameters: withoutEffort }],
    ["a narrower range", { supported_parameters: { ...PARAMETERS, temperature: half } }],
    ["a removed value of a parameter", { supported_parameters: { ...PARAMETERS, effort: low } }],
  ])("%s is reported as less, and the reverse is not", (_what, change) => {
    expect(findDifference({}, { model: change })).toMatchObject({
      is_less: true,
      is_dearer: false,
    });
    expect(findDifference({ model: change }, {})).toMatchObject(
      change.is_ready === false ? { is_less: false } : { is_less: false, is_dearer: false },
    );
  });

  test("an added output bound offers less only below the gateway's maximum of 32,768", () => {
    const { max_output_tokens: _, ...unbounded } = listing();
    const before = smallManifest([unbounded]);
    const at = (bound: number): boolean | undefined =>
      diffManifests(before, smallManifest([listing({ max_output_tokens: bound })]), NOW_MS)
        .models[0]?.is_less;
    expect([at(32_768), at(32_767)]).toEqual([false, true]);
  });

  test("a provider that begins to keep prompts, or hides its listings, offers less", () => {
    const before = smallManifest([listing()]);
    const provider = { ...before.provider, prompt_logging: "retained" } as const;
    const found = diffManifests(before, { ...before, provider }, NOW_MS);
    expect(found).toMatchObject({ ok: false, models: [] });
    expect(found.facts).toEqual([
      { field: "provider.prompt_logging", old: "none", new: "retained", is_less: true },
    ]);
    const hidden = { ...before, provider: { ...before.provider, listing: "private" } } as const;
    expect(diffManifests(before, hidden, NOW_MS).ok).toBe(false);
    expect(diffManifests(hidden, before, NOW_MS).ok).toBe(true);
  });
});

describe("listings that come and go", () => {
  const one = listing({ id: "acme/one" });
  const two = listing({ id: "acme/two" });

  test("an added listing passes the diff, and a removed one fails it", () => {
    const come = diffManifests(smallManifest([one]), smallManifest([one, two]), NOW_MS);
    expect(come).toMatchObject({ ok: true, counts: { old: 1, new: 2, added: 1, removed: 0 } });
    expect(come.models).toMatchObject([{ model: "acme/two", change: "added", is_dearer: false }]);
    const gone = diffManifests(smallManifest([one, two]), smallManifest([one]), NOW_MS);
    expect(gone).toMatchObject({ ok: false, counts: { added: 0, removed: 1 } });
  });

  test("a staged listing may become dearer or be removed, as it is not sold", () => {
    const staged = { ...two, is_ready: false };
    expect(diffManifests(smallManifest([one, staged]), smallManifest([one]), NOW_MS).ok).toBe(true);
    const dearer = { ...staged, pricing: pricing({ prompt: "9", completion: "9" }) };
    const found = diffManifests(smallManifest([staged]), smallManifest([dearer]), NOW_MS);
    expect(found).toMatchObject({ ok: true, counts: { changed: 1, dearer: 0 } });
  });

  test("the order of listings and of members is no difference", () => {
    const turned = Object.fromEntries(Object.entries(one).toReversed()) as unknown as Model;
    const found = diffManifests(smallManifest([one, two]), smallManifest([two, turned]), NOW_MS);
    expect(found).toMatchObject({ ok: true, facts: [], models: [] });
  });
});
