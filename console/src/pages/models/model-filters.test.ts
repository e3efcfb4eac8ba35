import { describe, expect, test } from "vitest";

import { choicesOf, filterModels, readContext, readPrice } from "./model-filters.ts";
import { listingOf, modelOf } from "./sample-models.test-data.ts";

const cheapLogged = listingOf({ provider: "cheap", prompt: "0.10", prompt_logging: "retained" });
const dearPrivate = listingOf({ provider: "dear", prompt: "9", datacenters: ["DE"] });
const both = modelOf({ id: "lab/both", name: "Both", providers: [cheapLogged, dearPrivate] });
const vision = modelOf({
  id: "lab/vision",
  name: "Vision",
  input_modalities: ["text", "image"],
  providers: [
    listingOf({
      prompt: "2",
      context_length: 1_000_000,
      parameters: { tools: { type: "boolean" } },
    }),
  ],
});
const video = modelOf({
  id: "lab/video",
  name: "Film",
  modality: "video",
  context_length: null,
  providers: [listingOf({ billing: "reported_cost", context_length: null })],
});
const models = [video, vision, both];

function found(search: Parameters<typeof filterModels>[1]): readonly string[] {
  return filterModels(models, search).map(({ id }) => id);
}

describe("finding a model", () => {
  test("without filters all are there, in the order of the server: newest first", () => {
    expect(found({})).toEqual(["lab/video", "lab/vision", "lab/both"]);
  });

  test("every word counts, in ids, names and providers, in any case", () => {
    expect(found({ q: "VIS lab/" })).toEqual(["lab/vision"]);
    expect(found({ q: "dear" })).toEqual(["lab/both"]);
    expect(found({ q: "vision film" })).toEqual([]);
  });

  test("price and no prompt logging must hold for the same provider", () => {
    expect(found({ price: "1" })).toEqual(["lab/both"]);
    expect(found({ price: "1", logging: "none" })).toEqual([]);
    expect(found({ price: "9", logging: "none", provider: "dear" })).toEqual(["lab/both"]);
  });

  test("the price of the output is a filter too, of the same provider", () => {
    expect(found({ output: "10" })).toEqual(found({ modality: "text" }));
    expect(found({ output: "0.50" })).toEqual([]);
  });

  test("a price without a token to it fits no price filter", () => {
    expect(found({ price: "9999999" })).not.toContain("lab/video");
  });

  test("a provider that declares no data centre is in no country", () => {
    expect(found({ country: "DE" })).toEqual(["lab/both"]);
  });

  test("runs only in: one further country is one too many", () => {
    const two = modelOf({ providers: [listingOf({ datacenters: ["DE", "US"] })] });
    expect(filterModels([two], { country: "DE" })).toEqual([]);
  });

  test("context, input kinds, kind of output and parameters", () => {
    expect(found({ context: "1M" })).toEqual(["lab/vision"]);
    expect(found({ input: "image" })).toEqual(["lab/vision"]);
    expect(found({ modality: "video" })).toEqual(["lab/video"]);
    expect(found({ parameter: "tools" })).toEqual(["lab/vision"]);
    expect(found({ parameter: "toString" })).toEqual([]);
  });
});

test("a context is read as people write it", () => {
  expect(["128k", "1M", "128,000", "8192"].map(readContext)).toEqual([
    128_000, 1_000_000, 128_000, 8192,
  ]);
  expect(["", "lots", "-1", undefined].map(readContext)).toEqual(Array(4).fill(undefined));
});

test("a price is read exactly, and what is none filters nothing", () => {
  expect(readPrice("$0.15")).toBe(150_000n);
  expect(["", "cheap", "-1", "1.2345678"].map(readPrice)).toEqual(Array(4).fill(undefined));
});

test("filters offer what the catalog has", () => {
  expect(choicesOf(models)).toEqual({
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
