import { expect, test } from "vitest";

import type { ListingFigures, Model } from "../../../../src/account/console-api/contract.ts";
import { compareFacts } from "./compare-facts.ts";
import { buildFigures, buildListing, buildModel } from "./sample-models.test-data.ts";

const small = buildModel({
  id: "small",
  providers: [
    buildListing({
      name: "Lab",
      prompt: "0.5",
      completion: "8",
      defaulted: ["cached_prompt"],
      context_length: 8_000,
    }),
  ],
  parameters: { tools: { type: "boolean" } },
});
const large = buildModel({
  id: "large",
  input_modalities: ["text", "image"],
  deprecation_date: "2027-02-03",
  providers: [
    buildListing({ name: "Big", prompt: "3", completion: "8", context_length: 1_000_000 }),
    buildListing({ name: "Other", prompt: "0.1" }),
  ],
  parameters: { tools: { type: "boolean" }, seed: { type: "unknown" } },
});
const film = buildModel({
  id: "film",
  modality: "video",
  providers: [buildListing({ billing: "reported_cost", context_length: null })],
});

function cellsOf(label: string, models = [small, large, film]): readonly string[] {
  const fact = compareFacts(models).find((each) => each.label === label);
  return (fact?.cells ?? []).map(({ text, note, isBest }) =>
    [text, note, isBest ? "best" : undefined].filter((part) => part !== undefined).join(" | "),
  );
}

test("prices are those of each model's first provider, and the lowest is marked", () => {
  expect(cellsOf("Input, per million")).toEqual(["$0.50 | best", "$3.00", "As reported"]);
  expect(cellsOf("Cached input, per million")[0]).toBe("$0.50 | same as input | best");
});

test("equal prices and a single price are not marked as the lowest", () => {
  expect(cellsOf("Output, per million")).toEqual(["$8.00", "$8.00", "As reported"]);
  expect(cellsOf("Input, per million", [small, film])).toEqual(["$0.50", "As reported"]);
});

test("the longest context is marked, and an unknown one is a dash", () => {
  expect(cellsOf("Context")).toEqual(["8,000 tokens", "1,000,000 tokens | best", "–"]);
});

test("the comparison has a line of verdicts only if a verdict is known", () => {
  const labels = compareFacts([small, large]).map(({ label }) => label);
  expect(labels).not.toContain("Verified");
  const known = compareFacts([small, large], ["Verified", undefined]);
  const cells = known.find(({ label }) => label === "Verified")?.cells.map(({ text }) => text);
  expect(cells).toEqual(["Verified", "–"]);
});

test("the comparison has a line for 1-hour cache writes only if a model offers them", () => {
  const { prices } = buildListing({});
  if (prices === null) throw new Error("a listing has prices");
  const hourly = buildModel({
    providers: [buildListing({ prices: { ...prices, cache_write_1h: "9" } })],
  });
  expect(cellsOf("Cache write, 1 hour, per million", [hourly, small, film])).toEqual([
    "$9.00",
    "Not offered",
    "As reported",
  ]);
  expect(cellsOf("Cache write, 1 hour, per million")).toEqual([]);
});

test("the comparison describes prices by prompt size, upcoming prices and the last price check", () => {
  const { prices } = buildListing({ prompt: "2", completion: "4" });
  if (prices === null) throw new Error("a listing has prices");
  const tiered = buildModel({
    providers: [
      buildListing({
        price_tiers: [{ above_prompt_tokens: 200_000, prices }],
        price_changes: [{ from: "2027-01-01T00:00:00.000Z", prices, price_tiers: [] }],
        checked: { on: "2026-11-22", by: "two-sources", url: null, age: "recent" },
      }),
    ],
  });
  expect(cellsOf("Price by prompt size", [tiered, small])).toEqual([
    "$2.00 in, $4.00 out above 200,000 tokens",
    "Same for all",
  ]);
  expect(cellsOf("Upcoming prices", [tiered, small])).toEqual([
    "$2.00 in, $4.00 out from 1 Jan 2027",
    "None",
  ]);
  expect(cellsOf("Prices checked", [tiered, small])).toEqual([
    "22 Nov 2026, two sources agree",
    "Not recorded",
  ]);
});

test("latency, speed and success have lines only if one is known, and the best value is marked", () => {
  const by = ({ providers: [first] }: Model, figures: Partial<ListingFigures>) => ({
    share: 0.1,
    byProvider: new Map([[first?.provider ?? "", buildFigures(figures)]]),
  });
  const served = new Map([
    ["small", by(small, { success: 0.99, ttft_p50_ms: 300, tokens_per_second: null })],
    ["large", by(large, { success: 0.97, ttft_p50_ms: 250, tokens_per_second: 80 })],
  ]);
  const line = (label: string) =>
    compareFacts([small, large, film], [], served)
      .find((each) => each.label === label)
      ?.cells.map(({ text, isBest }) => (isBest ? `${text} best` : text));
  expect(line("First token, p50")).toEqual(["300 ms", "250 ms best", "–"]);
  expect(line("Tokens per second")).toEqual(["–", "80", "–"]);
  expect(line("Succeeded, 30 days")).toEqual(["99% best", "97%", "–"]);
  const labels = compareFacts([small]).map(({ label }) => label);
  expect(labels).not.toContain("First token, p50");
});
