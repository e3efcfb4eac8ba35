import { describe, expect, test } from "vitest";

import { orderBySort, orderChoices, orderModels, ORDERS } from "./model-order.ts";
import { listingOf, modelOf } from "./sample-models.test-data.ts";

const cheap = listingOf({ provider: "cheap", prompt: "0.10", prompt_logging: "retained" });
const dear = listingOf({ provider: "dear", prompt: "9" });
const both = modelOf({
  id: "both",
  name: "Both",
  released: "2026-03-01",
  providers: [cheap, dear],
});
const wide = modelOf({
  id: "wide",
  name: "Wide",
  released: null,
  context_length: 1_000_000,
  providers: [listingOf({ prompt: "2", context_length: 1_000_000 })],
});
const video = modelOf({
  id: "video",
  name: "Film",
  modality: "video",
  released: "2026-04-01",
  context_length: null,
  providers: [listingOf({ billing: "reported_cost", context_length: null })],
});
const models = [video, both, wide];

function ordered(search: Parameters<typeof orderModels>[1]): readonly string[] {
  return orderModels(models, search).map(({ id }) => id);
}

describe("the order of models", () => {
  test.each([
    [undefined, ["video", "both", "wide"]],
    ["constructor", ["video", "both", "wide"]],
    ["oldest", ["both", "video", "wide"]],
    ["price", ["both", "wide", "video"]],
    ["price-desc", ["wide", "both", "video"]],
    ["context", ["wide", "both", "video"]],
    ["context-asc", ["both", "wide", "video"]],
    ["name", ["both", "video", "wide"]],
    ["name-desc", ["wide", "video", "both"]],
    ["providers", ["both", "video", "wide"]],
  ])("%s; what has no such value comes last, either way", (sort, ids) => {
    expect(ordered({ sort })).toEqual(ids);
  });

  test("a price is that of the providers that fit", () => {
    expect(ordered({ sort: "price", logging: "none" })).toEqual(["wide", "both", "video"]);
  });

  test("every order is that of a column, and a press on its header asks for it", () => {
    for (const { value, id, direction } of ORDERS) {
      expect(orderBySort({ id, direction })).toBe(value === "newest" ? undefined : value);
    }
  });

  test("the one that is shown is always among the choices", () => {
    expect(orderChoices({}).map(({ value }) => value)).not.toContain("name-desc");
    expect(orderChoices({ sort: "name-desc" }).map(({ value }) => value)).toContain("name-desc");
  });
});

test("models are ordered by how they were served, those without calls last in either direction", () => {
  const served = new Map([
    ["both", { success: 0.9, ttftMs: 400, tokensPerSecond: 10, byProvider: new Map() }],
    ["wide", { success: 0.8, ttftMs: 200, tokensPerSecond: 90, byProvider: new Map() }],
  ]);
  const by = (sort: string) => orderModels(models, { sort }, served).map(({ id }) => id);
  expect(by("ttft")).toEqual(["wide", "both", "video"]);
  expect(by("speed-asc")).toEqual(["both", "wide", "video"]);
  expect(by("success")).toEqual(["both", "wide", "video"]);
  const values = (known?: typeof served) => orderChoices({}, known).map(({ value }) => value);
  expect(values(served)).toEqual([...values(), "ttft", "speed", "success"]);
});
