import { describe, expect, test } from "vitest";

import type { ManifestListingTerms } from "../../catalog/index.ts";
import { importFor, buildSource } from "../../../test/fixtures/listing-sources/snapshots.ts";
import type { ImportResult, SourceInput } from "./import-listings.ts";

/** Builds LiteLLM's file with one entry, for a model of Groq. */
function litellm(prices: string, name = "acme-1"): SourceInput {
  const entry = `"litellm_provider":"groq","mode":"chat","max_input_tokens":1000,${prices}`;
  return buildSource("litellm", "2026-08-01", `{"groq/${name}":{${entry}}}`);
}

function modelsDev(cost: string, name = "acme-1"): SourceInput {
  const entry = `"limit":{"context":2000,"output":100},"cost":{${cost}}`;
  return buildSource("models.dev", "2026-07-02", `{"groq":{"models":{"${name}":{${entry}}}}}`);
}

function genaiPrices(prices: string, name = "acme-1"): SourceInput {
  const model = `{"id":"${name}","match":{"equals":"${name}"},"prices":${prices}}`;
  return buildSource("genai-prices", "2026-08-21", `[{"id":"groq","models":[${model}]}]`);
}

const ONE_AND_TWO = '"input_cost_per_token":1e-06,"output_cost_per_token":2e-06';

function termsOf({ manifest }: ImportResult): ManifestListingTerms {
  return manifest?.listing_terms?.["groq/acme-1"] ?? {};
}

function pricesOf({ manifest }: ImportResult): string[] {
  const [model] = manifest?.models ?? [];
  return (model?.pricing ?? []).map((each) => `${each.type} ${each.cost_usd_per_million}`);
}

describe("a model that two sources price", () => {
  test("equally is ready, and counts as checked on the day of the older source", () => {
    const result = importFor("groq", litellm(ONE_AND_TWO), [modelsDev('"input":1,"output":2')]);
    expect(result.listed).toEqual(["groq/acme-1"]);
    expect(termsOf(result)).toEqual({ checked: { on: "2026-07-02", by: "two-sources" } });
  });

  test("differently is staged, and the note has both prices", () => {
    const result = importFor("groq", litellm(ONE_AND_TWO), [modelsDev('"input":1,"output":3')]);
    expect(result.staged).toEqual(["groq/acme-1"]);
    expect(termsOf(result).staged_because).toEqual(["sources-differ"]);
    expect(result.notes.map(({ message }) => message).join()).toContain("completion 2 and 3");
  });

  test("is ready when one of two others agrees", () => {
    const others = [
      modelsDev('"input":1,"output":3'),
      genaiPrices('{"input_mtok":1,"output_mtok":2}'),
    ];
    expect(importFor("groq", litellm(ONE_AND_TWO), others).listed).toEqual(["groq/acme-1"]);
  });

  test("is listed from two other sources if the first lacks it, and not from one alone", () => {
    const lead = litellm(ONE_AND_TWO, "other");
    const second = modelsDev('"input":1,"output":2');
    const third = genaiPrices('{"input_mtok":1,"output_mtok":2}');
    expect(importFor("groq", lead, [second, third]).listed).toEqual(["groq/acme-1"]);
    expect(importFor("groq", lead, [second]).listed).toEqual([]);
    expect(importFor("groq", lead, [third]).listed).toEqual([]);
  });

  test("has the newest source's price, and is staged if only an old source agrees with it", () => {
    const dear = buildSource(
      "genai-prices",
      "2026-10-20",
      genaiPrices('{"input_mtok":2,"output_mtok":4}').bytes.toString(),
    );
    const old = litellm(ONE_AND_TWO);
    const alone = importFor("groq", old, [modelsDev('"input":1,"output":2'), dear]);
    expect(termsOf(alone).staged_because).toEqual(["one-source"]);
    expect(pricesOf(alone)).toEqual(["prompt 2", "completion 4"]);
    const agreed = importFor("groq", old, [modelsDev('"input":2,"output":4'), dear]);
    expect(termsOf(agreed)).toEqual({
      staged_because: ["old-agreement"],
      checked: { on: "2026-07-02", by: "two-sources" },
    });
  });

  test("has the higher of the default and a price that only one source states", () => {
    const cheap = `${ONE_AND_TWO},"cache_read_input_token_cost":1e-07`;
    const plain = modelsDev('"input":1,"output":2');
    expect(pricesOf(importFor("groq", litellm(cheap), [plain]))).toEqual([
      "prompt 1",
      "completion 2",
    ]);
    const dear = `${ONE_AND_TWO},"cache_creation_input_token_cost":1.25e-06`;
    expect(pricesOf(importFor("groq", litellm(dear), [plain]))).toContain("cache_write 1.25");
    expect(pricesOf(importFor("groq", litellm(cheap)))).toContain("cached_prompt 0.1");
  });
});

test("a model of one source is staged if other sources lack it, and ready if there are no others", () => {
  const lead = litellm(ONE_AND_TWO);
  const other = modelsDev('"input":1,"output":2', "another");
  expect(termsOf(importFor("groq", lead, [other])).staged_because).toEqual(["one-source"]);
  expect(importFor("groq", lead).listed).toEqual(["groq/acme-1"]);
});

describe("a price change that only one source announces", () => {
  const from = (prompt: string, completion: string): SourceInput =>
    genaiPrices(
      '[{"prices":{"input_mtok":1,"output_mtok":2}},{"constraint":{"start_date":"2027-01-01"},' +
        `"prices":{"input_mtok":${prompt},"output_mtok":${completion}}}]`,
    );

  test("is adopted if prices rise", () => {
    const result = importFor("groq", litellm(ONE_AND_TWO), [from("1", "3")]);
    expect(result.listed).toEqual(["groq/acme-1"]);
    expect(termsOf(result).price_changes).toHaveLength(1);
  });

  test.each([
    ["1", "1.5"],
    ["0.5", "9"],
  ])("stages the listing if one price falls: %s and %s", (prompt, completion) => {
    const result = importFor("groq", litellm(ONE_AND_TWO), [from(prompt, completion)]);
    expect(termsOf(result).staged_because).toEqual(["dated"]);
  });
});

test("a listing whose price with the margin is too large for a manifest is skipped by name", () => {
  const huge = '"input_cost_per_token":9.5,"output_cost_per_token":1';
  const result = importFor("groq", litellm(huge), [], { margin: "10" });
  expect(result).toMatchObject({ listed: [], skipped: ["groq/acme-1"] });
  expect(result.manifest).toBeUndefined();
});
