import { assert, bigInt, property } from "fast-check";
import { describe, expect, test } from "vitest";

import type { Manifest, ManifestPrice } from "../../catalog/index.ts";
import { listingHash } from "../listing-sources/ids.ts";
import { withMargin } from "./margin.ts";

const millionths = bigInt({ min: 0n, max: 900_000_000_000n });
const percents = bigInt({ min: 0n, max: 10_000_000n });

function decimal(count: bigint): string {
  const digits = count.toString().padStart(7, "0");
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

function read(text: string): bigint {
  const [whole = "", fraction = ""] = text.split(".");
  return BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, "0"));
}

function raisedPrice(price: string, percent: string): string | undefined {
  const { models } = withMargin(
    { ...manifest, models: [{ id: "m", pricing: prices(price, "1") }] },
    percent,
  );
  return models[0]?.pricing[0]?.cost_usd_per_million;
}

describe("a price with a margin", () => {
  test("is the exact product, rounded up by less than a millionth of a dollar", () => {
    assert(
      property(millionths, percents, (price, percent) => {
        const raised = read(raisedPrice(decimal(price), decimal(percent)) ?? "");
        const exact = price * (100_000_000n + percent);
        expect(raised * 100_000_000n).toBeGreaterThanOrEqual(exact);
        expect((raised - 1n) * 100_000_000n).toBeLessThan(exact);
      }),
    );
  });

  test.each([
    ["2", "10", "2.2"],
    ["0.15", "7.5", "0.16125"],
    ["0.000001", "1", "0.000002"],
    ["0.000001", "0", "0.000001"],
    ["0", "50", "0"],
    ["0.1", "20", "0.12"],
    ["1234567.123456", "100", "2469134.246912"],
  ])("of %s and %s percent is %s", (price, percent, raised) => {
    expect(raisedPrice(price, percent)).toBe(raised);
  });

  test("that no manifest can hold is refused by its check, not cut", () => {
    expect(raisedPrice("9999999", "10")).toBe("99999999");
  });
});

function prices(prompt: string, completion: string): readonly ManifestPrice[] {
  return [
    { type: "prompt", unit: "token", cost_usd_per_million: prompt },
    { type: "completion", unit: "token", cost_usd_per_million: completion },
  ];
}

const manifest: Manifest = {
  manifest_version: "1",
  provider: {
    id: "acme",
    name: "Acme",
    privacy_policy_url: "https://acme.example/p",
    prompt_logging: "none",
  },
  endpoint: { base_url: "https://acme.example/v1", dialect: "wire_a" },
  settlement: { mode: "arrears", interval: "monthly" },
  models: [{ id: "acme/m", pricing: prices("1", "2") }],
  listing_terms: {
    "acme/m": {
      price_tiers: [{ above_prompt_tokens: 200_000, pricing: prices("2", "4") }],
      extra_pricing: { cache_write_1h: "3" },
      price_changes: [{ from: "2027-01-01T00:00:00Z", pricing: prices("10", "20") }],
      checked: { on: "2026-11-22", by: "page" },
    },
  },
};

describe("a manifest with a margin", () => {
  test("raises every price there is, and the provider is owed what it was owed", () => {
    const { models, listing_terms: terms } = withMargin(manifest, "10");
    expect(models[0]?.pricing).toEqual(prices("1.1", "2.2"));
    expect(terms?.["acme/m"]).toEqual({
      price_tiers: [{ above_prompt_tokens: 200_000, pricing: prices("2.2", "4.4") }],
      purchase_tiers: [{ above_prompt_tokens: 200_000, pricing: prices("2", "4") }],
      extra_pricing: { cache_write_1h: "3.3" },
      purchase_extra: { cache_write_1h: "3" },
      purchase_pricing: prices("1", "2"),
      price_changes: [
        {
          from: "2027-01-01T00:00:00Z",
          pricing: prices("11", "22"),
          purchase_pricing: prices("10", "20"),
        },
      ],
      checked: { on: "2026-11-22", by: "page" },
    });
  });

  test("replaces a margin that is there: the second run adds nothing to the first", () => {
    expect(withMargin(withMargin(manifest, "25"), "10")).toEqual(withMargin(manifest, "10"));
  });

  test("is imported as it is now, but for what was edited by hand", () => {
    const second = { id: "acme/edited", pricing: prices("7", "8") };
    const imported: Manifest = {
      ...manifest,
      models: [...manifest.models, second],
      catalog_source: {
        from: "litellm",
        dated: "2026-08-01",
        sha256: "0".repeat(64),
        imported: {
          "acme/m": listingHash(
            { id: "acme/m", pricing: prices("1", "2") },
            manifest.listing_terms?.["acme/m"],
          ),
          "acme/edited": "1".repeat(64),
        },
      },
    };
    const { models, listing_terms: terms, catalog_source: source } = withMargin(imported, "10");
    const [first] = models;
    expect(source).toMatchObject({
      margin_percent: "10",
      imported: {
        "acme/m": first === undefined ? "" : listingHash(first, terms?.["acme/m"]),
        "acme/edited": "1".repeat(64),
      },
    });
    expect(source?.imported["acme/m"]).not.toBe(imported.catalog_source?.imported["acme/m"]);
  });

  test("of a provider that reports its own cost is the manifest itself", () => {
    const reported = {
      ...manifest,
      endpoint: { ...manifest.endpoint, billing: "reported_cost" as const },
    };
    expect(withMargin(reported, "10")).toBe(reported);
  });
});
