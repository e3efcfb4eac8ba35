import { describe, expect, test } from "vitest";

import {
  listChoices,
  filterModels,
  fittingListings,
  readContext,
  readPrice,
} from "./model-filters.ts";
import { buildFigures, buildListing, buildModel } from "./sample-models.test-data.ts";
import { indexServedModels } from "./served.ts";

const cheapLogged = buildListing({ provider: "cheap", prompt: "0.10", prompt_logging: "retained" });
const dearPrivate = buildListing({ provider: "dear", prompt: "9", datacenters: ["DE"] });
const both = buildModel({ id: "lab/both", name: "Both", providers: [cheapLogged, dearPrivate] });
const vision = buildModel({
  id: "lab/vision",
  name: "Vision",
  input_modalities: ["text", "image"],
  providers: [
    buildListing({
      prompt: "2",
      context_length: 1_000_000,
      parameters: { tools: { type: "boolean" } },
    }),
  ],
});
const video = buildModel({
  id: "lab/video",
  name: "Film",
  modality: "video",
  context_length: null,
  providers: [buildListing({ billing: "reported_cost", context_length: null })],
});
const models = [video, vision, both];

function found(search: Parameters<typeof filterModels>[1]): readonly string[] {
  return filterModels(models, search).map(({ id }) => id);
}

describe("the filters of the models page", () => {
  test("keep all models in the server's order if none is set", () => {
    expect(found({})).toEqual(["lab/video", "lab/vision", "lab/both"]);
  });

  test("match every word in ids, names and providers, in any case", () => {
    expect(found({ q: "VIS lab/" })).toEqual(["lab/vision"]);
    expect(found({ q: "dear" })).toEqual(["lab/both"]);
    expect(found({ q: "vision film" })).toEqual([]);
  });

  test("require a single provider to match the price, logging and provider filters", () => {
    expect(found({ price: "1" })).toEqual(["lab/both"]);
    expect(found({ price: "1", logging: "none" })).toEqual([]);
    expect(found({ price: "9", logging: "none", provider: "dear" })).toEqual(["lab/both"]);
  });

  test("include a price that equals the bound, to the last digit", () => {
    expect(found({ price: "2" })).toEqual(["lab/vision", "lab/both"]);
    expect(found({ price: "1.999999" })).toEqual(["lab/both"]);
    expect(found({ price: "8.999999", provider: "dear" })).toEqual([]);
    expect(found({ output: "2" })).toEqual(found({ modality: "text" }));
    expect(found({ output: "1.999999" })).toEqual([]);
  });

  test("compare a price of a million dollars to the micro-dollar", () => {
    const third = buildModel({ providers: [buildListing({ prompt: "1000000.000001" })] });
    expect(filterModels([third], { price: "1000000" })).toEqual([]);
    expect(filterModels([third], { price: "1000000.000001" })).toEqual([third]);
  });

  test("exclude models that are not billed by the token if a price is set", () => {
    expect(found({ price: "9999999" })).not.toContain("lab/video");
  });

  test("exclude providers without a declared data center if a country is set", () => {
    expect(found({ country: "DE" })).toEqual(["lab/both"]);
  });

  test("exclude providers that also run outside the chosen country", () => {
    const two = buildModel({ providers: [buildListing({ datacenters: ["DE", "US"] })] });
    expect(filterModels([two], { country: "DE" })).toEqual([]);
  });

  test("match context, inputs, modality and parameters", () => {
    expect(found({ context: "1M" })).toEqual(["lab/vision"]);
    expect(found({ input: "image" })).toEqual(["lab/vision"]);
    expect(found({ modality: "video" })).toEqual(["lab/video"]);
    expect(found({ parameter: "tools" })).toEqual(["lab/vision"]);
    expect(found({ parameter: "toString" })).toEqual([]);
  });
});

describe("the filters by speed", () => {
  const served = indexServedModels([
    buildFigures({ model: "lab/both", provider: "cheap", ttft_p50_ms: 400, tokens_per_second: 20 }),
    buildFigures({
      model: "lab/both",
      provider: "dear",
      ttft_p50_ms: 2_000,
      tokens_per_second: 90,
    }),
  ]);
  const fast = (search: Parameters<typeof filterModels>[1]): readonly string[] =>
    filterModels(models, search, served).map(({ id }) => id);

  test("bound the first token and tokens per second, and exclude unmeasured models", () => {
    expect(fast({ ttft: "400" })).toEqual(["lab/both"]);
    expect(fast({ ttft: "399" })).toEqual([]);
    expect(fast({ speed: "90" })).toEqual(["lab/both"]);
    expect(fast({ speed: "91" })).toEqual([]);
    expect(fast({})).toHaveLength(models.length);
  });

  test("require a single provider to match the speed and price filters", () => {
    expect(fast({ ttft: "500", speed: "50" })).toEqual([]);
    expect(fast({ speed: "50", price: "1" })).toEqual([]);
    expect(fast({ speed: "50", price: "9" })).toEqual(["lab/both"]);
    const listings = fittingListings(both, { speed: "50" }, served);
    expect(listings.map(({ provider }) => provider)).toEqual(["dear"]);
  });

  test("exclude nothing if no speed is known or the filter is invalid", () => {
    expect(found({ ttft: "1", speed: "999" })).toHaveLength(models.length);
    expect(fast({ ttft: "fast", speed: "-1" })).toHaveLength(models.length);
  });
});

test("a context is parsed with k, M and separators", () => {
  expect(["128k", "1M", "128,000", "8192"].map(readContext)).toEqual([
    128_000, 1_000_000, 128_000, 8192,
  ]);
  expect(["", "lots", "-1", undefined].map(readContext)).toEqual(Array(4).fill(undefined));
});

test("a price is parsed exactly, and an invalid one is no filter", () => {
  expect(readPrice("$0.15")).toBe(150_000n);
  expect(readPrice("$ 2")).toBe(2_000_000n);
  expect(["", "cheap", "-1", "1.2345678"].map(readPrice)).toEqual(Array(4).fill(undefined));
});

test("filters offer the values that occur in the catalog", () => {
  expect(listChoices(models)).toEqual({
    modalities: ["text", "video"],
    inputs: ["image", "text"],
    parameters: ["tools"],
    providers: [
      { id: "lab-a", name: "Lab A" },
      { id: "cheap", name: "Lab A" },
      { id: "dear", name: "Lab A" },
    ],
    countries: ["DE"],
  });
});
