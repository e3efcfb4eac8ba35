import { describe, expect, test } from "vitest";

import type { Catalog, Deployment } from "./catalog.ts";
import type { ManifestFile } from "./catalog-input.ts";
import { deploymentAt, ownKeyDeployment } from "./deployment-copy.ts";
import {
  compileFiles,
  edited,
  manifestFile,
  pricing,
  textManifest,
  type Edits,
  type Json,
} from "../../test/fixtures/manifest/samples.ts";
import { priceJumps } from "./price-notes.ts";

type CompiledCatalog = ReturnType<typeof compileFiles>;

const NEW_YEAR_TEXT = "2027-01-01T00:00:00Z";
const NEW_YEAR = Date.parse(NEW_YEAR_TEXT);
const FEBRUARY = Date.parse("2027-02-01T00:00:00Z");
const plain = (prompt: string, completion: string): Json => pricing({ prompt, completion });
const CHANGES: Json = [
  { from: NEW_YEAR_TEXT, pricing: plain("2", "4") },
  {
    from: "2027-02-01T00:00:00Z",
    pricing: plain("3", "6"),
    price_tiers: [{ above_prompt_tokens: 100, pricing: plain("5", "9") }],
  },
];

/** Compiles a catalog where `acme/nib` costs $1 (prompt) and $2 (completion), with `terms`. */
function compiled(terms: Json, nowMs = 0, more: Edits = {}): Catalog {
  return compiledWithNotes(terms, nowMs, more).catalog;
}

function compiledWithNotes(terms: Json, nowMs = 0, more: Edits = {}): CompiledCatalog {
  const document = edited(textManifest(), {
    "/listing_terms": { "acme/nib": terms },
    "/models/1/pricing": plain("1", "2"),
    ...more,
  });
  return compileFiles([manifestFile("acme.json", document)], { nowMs });
}

function nib(terms: Json, nowMs = 0): Deployment {
  const found = compiled(terms, nowMs).find("acme/nib")?.deployments[0];
  if (found === undefined) throw new Error("acme/nib is not listed");
  return found;
}

const promptAt = (deployment: Deployment, atMs: number): bigint | undefined =>
  deploymentAt(deployment, atMs).prices?.prompt;

describe("prices with dates", () => {
  test("apply from their instant, to the millisecond, until the next ones begin", () => {
    const deployment = nib({ price_changes: CHANGES });
    expect(promptAt(deployment, NEW_YEAR - 1)).toBe(1_000_000n);
    expect(promptAt(deployment, NEW_YEAR)).toBe(2_000_000n);
    expect(promptAt(deployment, FEBRUARY - 1)).toBe(2_000_000n);
    expect(promptAt(deployment, FEBRUARY)).toBe(3_000_000n);
    expect(promptAt(deployment, FEBRUARY * 2)).toBe(3_000_000n);
  });

  test("are the same whenever the catalog is built, and the build shows those in force", () => {
    for (const builtMs of [0, NEW_YEAR - 1, NEW_YEAR, FEBRUARY, FEBRUARY * 2]) {
      const deployment = nib({ price_changes: CHANGES }, builtMs);
      expect(deployment.prices?.prompt).toBe(promptAt(nib({ price_changes: CHANGES }), builtMs));
      for (const atMs of [0, NEW_YEAR - 1, NEW_YEAR, FEBRUARY]) {
        expect(promptAt(deployment, atMs)).toBe(promptAt(nib({ price_changes: CHANGES }), atMs));
      }
    }
  });

  test("change the build id of a catalog that shows other prices", () => {
    const before = compiled({ price_changes: CHANGES }, NEW_YEAR - 1).buildId;
    expect(compiled({ price_changes: CHANGES }, 0).buildId).toBe(before);
    expect(compiled({ price_changes: CHANGES }, NEW_YEAR).buildId).not.toBe(before);
  });

  test("decide which of equal listings is tried first when they take effect", () => {
    const listing = (provider: string, terms: Json): ManifestFile => {
      const document = edited(textManifest(), {
        "/provider/id": provider,
        "/listing_terms": { "acme/nib": terms },
        "/models/1/pricing": plain(provider === "acme" ? "1" : "1.5", "2"),
      });
      return manifestFile(`${provider}.json`, document);
    };
    const manifests = [listing("acme", { price_changes: CHANGES }), listing("zeta", {})];
    const firstAt = (nowMs: number): string | undefined => {
      const { catalog } = compileFiles(manifests, { nowMs });
      return catalog.find("acme/nib")?.deployments[0]?.providerId;
    };
    expect(firstAt(NEW_YEAR - 1)).toBe("acme");
    expect(firstAt(NEW_YEAR)).toBe("zeta");
  });

  test("replace the tiers of the earlier prices", () => {
    const terms = {
      price_tiers: [{ above_prompt_tokens: 50, pricing: plain("7", "8") }],
      price_changes: CHANGES,
    };
    const deployment = nib(terms);
    const boundsAt = (atMs: number): number[] | undefined =>
      deploymentAt(deployment, atMs).prices?.tiers?.map((tier) => tier.abovePromptTokens);
    expect(boundsAt(0)).toEqual([50]);
    expect(boundsAt(NEW_YEAR)).toBeUndefined();
    expect(boundsAt(FEBRUARY)).toEqual([100]);
  });

  test("give one deployment object for their whole period, the catalog's own if unchanged", () => {
    const deployment = nib({ price_changes: CHANGES });
    expect(deploymentAt(deployment, 0)).toBe(deployment);
    const later = deploymentAt(deployment, NEW_YEAR);
    expect(deploymentAt(deployment, NEW_YEAR + 5)).toBe(later);
    expect({ ...later, prices: null }).toEqual({ ...deployment, prices: null });
    const without = nib({ checked: { on: "2026-11-22", by: "page" } });
    expect(deploymentAt(without, NEW_YEAR)).toBe(without);
    expect(without).toMatchObject({ checked: { on: "2026-11-22", by: "page" } });
    expect(without).not.toHaveProperty("datedPrices");
  });

  test("name the SKUs that they leave to the base rate", () => {
    const cached = pricing({ prompt: "2", completion: "4", cached_prompt: "0.2" });
    const deployment = nib({ price_changes: [{ from: NEW_YEAR_TEXT, pricing: cached }] });
    expect(deployment.defaultedSkus).toContain("cached_prompt");
    const later = deploymentAt(deployment, NEW_YEAR);
    expect(later.defaultedSkus).toEqual(["cache_write", "internal_reasoning"]);
  });

  test("do not apply to a customer's own key, which costs nothing at any time", () => {
    const of = { connectionId: "con_1", orgId: "org_1" as never, sealedKey: Buffer.from("k") };
    const copy = ownKeyDeployment(nib({ price_changes: CHANGES }), of);
    expect(deploymentAt(copy, NEW_YEAR)).toBe(copy);
    expect(promptAt(copy, FEBRUARY)).toBe(0n);
  });
});

test("a purchase price above the sale price is noted, also in a tier or a later change", () => {
  const notesOf = (terms: Json): string[] => {
    const { notes } = compiledWithNotes(terms);
    return notes.map(({ reason }) => reason).filter((reason) => reason.startsWith("purchase"));
  };
  const dear = plain("1.000001", "2");
  const tierOf = (prices: Json): Json => [{ above_prompt_tokens: 9, pricing: prices }];
  const sold = { purchase_pricing: plain("1", "2") };
  expect(notesOf(sold)).toEqual([]);
  expect(notesOf({ purchase_pricing: dear })).toEqual(["purchase_above_price"]);
  const tiers = { ...sold, price_tiers: tierOf(plain("3", "4")) };
  expect(notesOf({ ...tiers, purchase_tiers: tierOf(plain("3", "4")) })).toEqual([]);
  expect(notesOf({ ...tiers, purchase_tiers: tierOf(plain("3", "5")) })).toHaveLength(1);
  // The sale tier begins at longer prompts than the purchase tier: a prompt between the two bounds
  // is bought at the tier's price and sold at the base price.
  const later = [{ above_prompt_tokens: 20, pricing: plain("3", "4") }];
  const early = { ...sold, price_tiers: later, purchase_tiers: tierOf(plain("2", "3")) };
  expect(notesOf(early)).toHaveLength(1);
  const change = { from: NEW_YEAR_TEXT, pricing: plain("1", "2"), purchase_pricing: dear };
  expect(notesOf({ ...sold, price_changes: [change] })).toHaveLength(1);
});

describe("price pins", () => {
  const pinsOf = ({ prices, datedPrices = [] }: Deployment): (string | undefined)[] => [
    prices?.pinId,
    ...datedPrices.map((dated) => dated.prices.pinId),
    ...datedPrices.flatMap(({ prices: { tiers = [] } }) => tiers.map((tier) => tier.prices.pinId)),
  ];

  test("are equal for equal prices, and differ for all others", () => {
    const pins = pinsOf(nib({ price_changes: CHANGES }));
    // The first pin is that of the prices in force, which `datedPrices` has too.
    expect(new Set(pins).size).toBe(pins.length - 1);
    expect(pinsOf(nib({ price_changes: CHANGES }, 0))).toEqual(pins);
  });

  test("cover the bounds and the prices of tiers", () => {
    const tierAt = (above: number, prompt: string): Json => ({
      price_tiers: [{ above_prompt_tokens: above, pricing: plain(prompt, "8") }],
    });
    const pin = (terms: Json): string | undefined => nib(terms).prices?.pinId;
    const some = [pin({}), pin(tierAt(50, "7")), pin(tierAt(51, "7")), pin(tierAt(50, "6"))];
    expect(new Set(some).size).toBe(4);
    expect(pin(tierAt(50, "7"))).toBe(some[1]);
  });

  test("differ for a reported cost and counted tokens at the same prices", () => {
    const free = {
      "/models/1/pricing": plain("0", "1"),
      "/models/1/price_card": [{ unit: "token", cost_usd: "1" }],
    };
    const pinOf = (billing: string): string | undefined =>
      compiled({}, 0, { ...free, "/endpoint/billing": billing, "/models/0": undefined }).models[0]
        ?.deployments[0]?.prices?.pinId;
    expect(pinOf("token")).toBeDefined();
    expect(pinOf("token")).not.toBe(pinOf("reported_cost"));
  });
});

describe("an implausible price", () => {
  test("is noted above 10,000 dollars per million tokens of text, also in a tier or later", () => {
    const isNoted = (terms: Json, more: Edits = {}): boolean =>
      compiledWithNotes(terms, 0, more).notes.some(({ reason }) => reason === "price_implausible");
    const far = plain("1", "10000.000001");
    expect(isNoted({}, { "/models/1/pricing": plain("10000", "1") })).toBe(false);
    expect(isNoted({}, { "/models/1/pricing": far })).toBe(true);
    expect(isNoted({ price_tiers: [{ above_prompt_tokens: 9, pricing: far }] })).toBe(true);
    expect(isNoted({ price_changes: [{ from: NEW_YEAR_TEXT, pricing: far }] })).toBe(true);
  });

  test("is found if it is a hundred times higher or lower than in the catalog before", () => {
    const before = compiled({});
    const jumps = (terms: Json, prices: Json): readonly string[] =>
      priceJumps(before, compiled(terms, 0, { "/models/1/pricing": prices }));
    expect(jumps({}, plain("99.9", "0.0201"))).toEqual([]);
    expect(jumps({}, plain("100", "2"))).toEqual(["acme/acme/nib"]);
    expect(jumps({}, plain("1", "0.02"))).toEqual(["acme/acme/nib"]);
    expect(jumps({}, plain("0", "0"))).toEqual([]);
    const later = { price_changes: [{ from: NEW_YEAR_TEXT, pricing: plain("150", "2") }] };
    expect(jumps(later, plain("1", "2"))).toEqual(["acme/acme/nib"]);
    // The change was accepted when it was announced, so it may take effect.
    expect(priceJumps(compiled(later), compiled(later, NEW_YEAR))).toEqual([]);
  });
});
