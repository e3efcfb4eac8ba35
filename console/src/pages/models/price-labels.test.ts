import { describe, expect, test } from "vitest";

import { cardLineLabel, defaultLabel, lowestPrice, priceLine, showPrice } from "./price-labels.ts";
import { buildListing } from "./sample-models.test-data.ts";

describe("a price", () => {
  test("shows all significant digits and at least cents", () => {
    expect(["3", "0.15", "0.0375", "2.500000", "1250.5"].map(showPrice)).toEqual([
      "$3.00",
      "$0.15",
      "$0.0375",
      "$2.50",
      "$1,250.50",
    ]);
  });

  test("names its fallback if the listing has no separate price", () => {
    const listing = buildListing({ defaulted: ["cached_prompt", "internal_reasoning"] });
    expect(defaultLabel(listing, "cached_prompt")).toBe("same as input");
    expect(defaultLabel(listing, "internal_reasoning")).toBe("same as output");
    expect(defaultLabel(listing, "cache_write")).toBeUndefined();
  });

  test("is the lowest of the providers' prices", () => {
    const listings = ["10", "9.5", "9.51"].map((prompt) => buildListing({ prompt }));
    expect(lowestPrice(listings, "prompt")).toBe("9.5");
  });
});

describe("the price line of a model", () => {
  test("has the prices of input and output tokens", () => {
    expect(priceLine([buildListing({ prompt: "3", completion: "15" })])).toBe(
      "$3.00 in · $15.00 out",
    );
  });

  test("leaves out input or output if its price is 0", () => {
    expect(priceLine([buildListing({ prompt: "3", completion: "0.00" })])).toBe("$3.00 in");
    expect(priceLine([buildListing({ prompt: "0", completion: "15" })])).toBe("$15.00 out");
  });

  test("is from the price card if the provider reports its costs", () => {
    const second = { unit: "second", cost_usd: "0.1", billable: null, variant: null } as const;
    expect(priceLine([buildListing({ billing: "reported_cost", price_card: [second] })])).toBe(
      "$0.10 a second",
    );
    expect(cardLineLabel({ ...second, unit: "image" })).toBe("$0.10 an image");
  });

  test("says free only if all prices are zero, not if they are unknown", () => {
    expect(priceLine([buildListing({ billing: "reported_cost" })])).toBe("Price on each request");
    expect(priceLine([buildListing({ prompt: "0", completion: "0.00" })])).toBe("Free");
  });
});

test("a price line has the first provider's price, and the lowest if another is cheaper", () => {
  const at = (prompt: string) => buildListing({ prompt, completion: "2" });
  expect(priceLine([at("3"), at("1")])).toBe("$3.00 in · $2.00 out, from $1.00 in · $2.00 out");
});
