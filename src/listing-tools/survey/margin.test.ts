import { describe, expect, test } from "vitest";

import { pricing, smallManifest } from "../../../test/fixtures/manifest/samples.ts";
import type { Manifest, ManifestPrice } from "../../catalog/index.ts";
import { listingHash } from "../listing-sources/ids.ts";
import { withMargin } from "./margin.ts";

const prices = (prompt: string, completion: string): readonly ManifestPrice[] =>
  pricing({ prompt, completion });

const manifest = smallManifest([{ id: "acme/m", pricing: prices("1", "2") }], {
  "acme/m": {
    price_tiers: [{ above_prompt_tokens: 200_000, pricing: prices("2", "4") }],
    extra_pricing: { cache_write_1h: "3" },
    price_changes: [{ from: "2027-01-01T00:00:00Z", pricing: prices("10", "20") }],
    checked: { on: "2026-11-22", by: "page" },
  },
});

describe("a manifest with a margin", () => {
  test("raises every sale price, and keeps the old prices as purchase prices", () => {
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

  test("has the invalid price 99999999 where the raised price is too large for a manifest", () => {
    const dear = { ...manifest, models: [{ id: "acme/m", pricing: prices("9999999", "2") }] };
    expect(withMargin(dear, "10").models[0]?.pricing).toEqual(prices("99999999", "2.2"));
  });

  test("replaces an earlier margin instead of adding to it", () => {
    expect(withMargin(withMargin(manifest, "25"), "10")).toEqual(withMargin(manifest, "10"));
  });

  test("has a new import hash for each listing that was not edited by hand", () => {
    const hashOf = ({ models: [first], listing_terms: terms }: Manifest): string =>
      first === undefined ? "" : listingHash(first, terms?.["acme/m"]);
    const edited = { "acme/edited": "1".repeat(64) };
    const imported: Manifest = {
      ...manifest,
      models: [...manifest.models, { id: "acme/edited", pricing: prices("7", "8") }],
      catalog_source: {
        from: "litellm",
        dated: "2026-08-01",
        sha256: "0".repeat(64),
        imported: { "acme/m": hashOf(manifest), ...edited },
      },
    };
    const raised = withMargin(imported, "10");
    expect(raised.catalog_source).toMatchObject({
      margin_percent: "10",
      imported: { "acme/m": hashOf(raised), ...edited },
    });
    expect(hashOf(raised)).not.toBe(hashOf(manifest));
  });

  test("is returned unchanged if the provider reports its own cost", () => {
    const reported = {
      ...manifest,
      endpoint: { ...manifest.endpoint, billing: "reported_cost" as const },
    };
    expect(withMargin(reported, "10")).toBe(reported);
  });
});
