import { describe, expect, test } from "vitest";

import { cardLineLabel, defaultLabel, lowestPrice, priceLine, showPrice } from "./price-labels.ts";
import { buildListing } from "./sample-models.test-data.ts";

describe("a price", () => {
  test("shows every digit that says something, and cents at least", () => {
    expect(["3", "0.15", "0.0375", "2.500000", "1250.5"].map(showPrice)).toEqual([
      "$3.00",
      "$0.15",
      "$0.0375",
      "$2.50",
      "$1,250.50",
    ]);
  });

  test("that the listing leaves out is shown as what it falls back to, never as 0", () => {
    const listing = buildListing({ defaulted: ["cached_prompt", "internal_reasoning"] });
    expect(defaultLabel(listing, "cached_prompt")).toBe("same as input");
    expect(defaultLabel(listing, "internal_reasoning")).toBe("same as output");
    expect(defaultLabel(listing, "cache_write")).toBeUndefined();
  });

  test("of a model is the lowest of its providers'", () => {
    const listings = ["10", "9.5", "9.51"].map((prompt) => buildListing({ prompt }));
    expect(lowestPrice(listings, "prompt")).toBe("9.5");
  });
});

describe("what a model costs, in a line", () => {
  test("by tokens", () => {
    expect(priceLine([buildListing({ prompt: "3", completion: "15" })])).toBe(
      "$3.00 in · $15.00 out",
    );
  });

  test("without the side that costs nothing", () => {
    expect(priceLine([buildListing({ prompt: "3", completion: "0.00" })])).toBe("$3.00 in");
    expect(priceLine([buildListing({ prompt: "0", completion: "15" })])).toBe("$15.00 out");
  });

  test("by its price card where the provider reports its own cost", () => {
    const second = { unit: "second", cost_usd: "0.1", billable: null, variant: null } as const;
    expect(priceLine([buildListing({ billing: "reported_cost", price_card: [second] })])).toBe(
      "$0.10 a second",
    );
    expect(cardLineLabel({ ...second, unit: "image" })).toBe("$0.10 an image");
  });

  test("is never called free for want of a price", () => {
    expect(priceLine([buildListing({ billing: "reported_cost" })])).toBe("Price on each request");
    expect(priceLine([buildListing({ prompt: "0", completion: "0.00" })])).toBe("Free");
  });
});

test("a price is that of the provider tried first, with the lowest where another is cheaper", () => {
  const at = (prompt: string) => buildListing({ prompt, completion: "2" });
  expect(priceLine([at("3"), at("1")])).toBe("$3.00 in · $2.00 out, from $1.00 in · $2.00 out");
});
