import { describe, expect, test } from "vitest";

import { changeKind, changeLabel, labelChecked, nextChange, priceRows } from "./price-rows.ts";
import { buildListing } from "./sample-models.test-data.ts";

function prices(prompt: string, completion: string) {
  const listing = buildListing({ prompt, completion });
  if (listing.prices === null) throw new Error("a listing has prices");
  return listing.prices;
}

const tiered = buildListing({
  name: "Lab",
  price_tiers: [
    { above_prompt_tokens: 200_000, prices: prices("2", "4") },
    { above_prompt_tokens: 500_000, prices: prices("3", "6") },
  ],
  price_changes: [
    { from: "2027-01-01T00:00:00.000Z", prices: prices("1.5", "2"), price_tiers: [] },
  ],
});

describe("prices by size and date", () => {
  test("have one row each, from the smallest prompt today to the last announced price", () => {
    const rows = priceRows([tiered]).map(({ when, prompts, prices: { prompt } }) => [
      when,
      prompts,
      prompt,
    ]);
    expect(rows).toEqual([
      ["now", "up to 200,000 tokens", "1"],
      ["now", "above 200,000 tokens, up to 500,000 tokens", "2"],
      ["now", "above 500,000 tokens", "3"],
      ["from 1 Jan 2027", "Any size", "1.5"],
    ]);
  });

  test("have no rows if there is one price or no price per token", () => {
    expect(priceRows([buildListing({}), buildListing({ prices: null })])).toEqual([]);
  });
});

describe("the next change of prices", () => {
  test("is the earliest of any provider, with its direction", () => {
    const later = buildListing({
      name: "Later",
      price_changes: [
        { from: "2028-05-06T12:30:00.000Z", prices: prices("0.5", "2"), price_tiers: [] },
      ],
    });
    const next = nextChange([later, tiered, buildListing({})]);
    expect(next).toEqual({ from: "2027-01-01T00:00:00.000Z", kind: "rise", provider: "Lab" });
    expect(next && changeLabel(next)).toBe("Price increase from 1 Jan 2027");
    const fall = nextChange([later]);
    expect(fall && changeLabel(fall)).toBe("Price decrease from 6 May 2028, 12:30 UTC");
    expect(nextChange([buildListing({})])).toBeUndefined();
  });

  test("is mixed if one price rises and another falls", () => {
    expect(changeKind(prices("1", "2"), prices("2", "1"))).toBe("mixed");
    expect(changeKind(prices("1", "2"), prices("1", "2"))).toBeUndefined();
    const mixed = { from: "2027-01-01T00:00:00.000Z", kind: "mixed", provider: "Lab" } as const;
    expect(changeLabel(mixed)).toBe("New prices from 1 Jan 2027");
  });
});

test("a price check is labelled with its day, method and age, or as not recorded", () => {
  expect(labelChecked({ on: "2026-11-22", by: "page", url: null, age: "recent" })).toBe(
    "22 Nov 2026, the provider's page",
  );
  expect(labelChecked({ on: "2026-11-22", by: "two-sources", url: null, age: "late" })).toBe(
    "22 Nov 2026, two sources agree",
  );
  expect(labelChecked({ on: "2026-06-22", by: "page", url: null, age: "old" })).toMatch(
    /; not confirmed since$/,
  );
  expect(labelChecked(null)).toBe("Not recorded");
});
