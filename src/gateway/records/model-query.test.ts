import { describe, expect, test } from "vitest";

import type { ListedModel } from "../../catalog/catalog.ts";
import type { ManifestFile } from "../../catalog/catalog-input.ts";
import {
  compileFiles,
  edited,
  manifestFile,
  pricing,
  textManifest,
  type Edits,
  type Json,
} from "../../../test/fixtures/manifest/samples.ts";
import { modelEntry } from "./contract/models.ts";
import { filterModels, readModelFilter } from "./model-query.ts";

function listing(
  id: string,
  prices: readonly [string, string],
  more: { readonly [name: string]: Json } = {},
): Json {
  const [prompt, completion] = prices;
  const of = { context_length: 8_000, streaming: true, pricing: pricing({ prompt, completion }) };
  return { id, ...of, ...more };
}

function manifestOf(provider: string, models: Json[], edits: Edits = {}): ManifestFile {
  const named = { "/provider/id": provider, "/endpoint/api_key_env": undefined };
  const document = edited(textManifest(), { ...named, "/models": models, ...edits });
  return manifestFile(`${provider}.json`, document);
}

function modelsOf(manifests: readonly ManifestFile[]): readonly ListedModel[] {
  return compileFiles(manifests).catalog.models;
}

const TOOLS = { supported_parameters: { tools: { type: "boolean" } } };
const BOTH = { supported_parameters: { tools: { type: "boolean" }, stop: { type: "unknown" } } };

/** The models `new`, `wide`, `both` and `plain`, newest first. */
const models = modelsOf([
  manifestOf("dear", [
    listing("new", ["9", "30"], { released: "2026-05-01", ...BOTH }),
    listing("wide", ["2", "4"], {
      released: "2026-04-01",
      context_length: 1_000_000,
      input_modalities: ["text", "image", "file"],
      deprecation_date: "2027-01-01",
    }),
    listing("both", ["5", "6"], { released: "2026-03-01", ...TOOLS }),
  ]),
  manifestOf(
    "cheap",
    [
      listing("both", ["0.5", "7"], {
        released: "2026-03-01",
        supported_parameters: { stop: { type: "unknown" } },
      }),
      listing("plain", ["0.000001", "0.1"], { released: "2026-02-01" }),
    ],
    { "/provider/prompt_logging": "retained" },
  ),
]);

function found(query: string, verified: readonly string[] = []): readonly string[] {
  const read = readModelFilter(new URLSearchParams(query));
  if (!read.ok) throw new Error(read.refusal.message);
  const state = (id: string) => (verified.includes(id) ? "verified" : "unchecked");
  const verdicts = { of: ({ id }: { readonly id: string }) => ({ state: state(id) }) as const };
  return filterModels(models, read.asked, verdicts).map(({ id }) => id);
}

function refusalOf(query: string): string {
  const read = readModelFilter(new URLSearchParams(query));
  if (read.ok) throw new Error(`${query} was taken`);
  expect(read.refusal).toMatchObject({ status: 400, class: "invalid_request" });
  return read.refusal.message;
}

describe("the filters of the list of models", () => {
  test.each([
    ["", ["new", "wide", "both", "plain"]],
    ["modality=image", []],
    ["input_modality=image", ["wide"]],
    ["input_modality=image,file", ["wide"]],
    ["input_modality=image&input_modality=audio", []],
    ["supported_parameters=tools", ["new", "both"]],
    ["supported_parameters=tools,stop", ["new"]],
    ["provider=cheap", ["both", "plain"]],
    ["prompt_logging=none", ["new", "wide", "both"]],
    ["min_context=8001", ["wide"]],
    ["min_context=8000", ["new", "wide", "both", "plain"]],
    ["max_prompt_price=2", ["wide", "both", "plain"]],
    ["max_prompt_price=1.999999", ["both", "plain"]],
    ["max_prompt_price=0.000001", ["plain"]],
    ["deprecated=true", ["wide"]],
    ["deprecated=false", ["new", "both", "plain"]],
  ])("the query ?%s lists exactly the matching models", (query, ids) => {
    expect(found(query)).toEqual(ids);
  });

  test("filters on a provider's properties must all match the same provider", () => {
    expect(found("max_prompt_price=1&prompt_logging=none")).toEqual([]);
    expect(found("max_prompt_price=1&max_completion_price=6&provider=cheap")).toEqual(["plain"]);
    expect(found("max_prompt_price=1&supported_parameters=tools")).toEqual([]);
  });

  test("verified=true lists models with a verified listing that matches the other filters", () => {
    expect(found("verified=true", ["dear/both"])).toEqual(["both"]);
    expect(found("verified=true&provider=cheap", ["dear/both"])).toEqual([]);
    expect(found("verified=false", ["dear/both", "cheap/both"])).not.toContain("both");
  });

  test("parameters that are not filters, such as limit and beta, are ignored", () => {
    expect(found("limit=1&beta=true&after_id=x&__proto__=1")).toHaveLength(4);
  });
});

test.each([
  ["newest", ["new", "wide", "both", "plain"]],
  ["name", ["both", "new", "plain", "wide"]],
  ["context", ["wide", "new", "both", "plain"]],
  ["prompt_price", ["plain", "both", "wide", "new"]],
  ["completion_price", ["plain", "wide", "both", "new"]],
  // A price counts only if its provider fits the filters.
  ["prompt_price&prompt_logging=none", ["wide", "both", "new"]],
])("the list of models is in the order of sort=%s", (order, ids) => {
  expect(found(`sort=${order}`)).toEqual(ids);
});

test.each([
  ["modality=audio", "modality must be one of text, image, video, decisions"],
  ["input_modality=text,pdf", 'input_modality cannot be "pdf"'],
  ["supported_parameters=a,,b", "supported_parameters cannot be"],
  [`supported_parameters=${"a,".repeat(16)}a`, "supported_parameters may have 16 values at most"],
  ["max_prompt_price=cheap", "max_prompt_price must be US dollars per million tokens"],
  ["max_completion_price=0.0000001", "max_completion_price must be"],
  ["min_context=0", "min_context must be a whole number"],
  ["min_context=128k", "min_context must be a whole number"],
  ["prompt_logging=off", "prompt_logging must be one of none, retained"],
  ["sort=price", "sort must be one of newest, name, context, prompt_price, completion_price"],
  ["sort=newest&sort=name", "sort must be given once"],
  ["provider=", "provider must not be empty"],
])("%s is a 400 that names the parameter", (query, message) => {
  expect(refusalOf(query)).toContain(message);
});

test("a value that is refused is quoted in part only", () => {
  expect(refusalOf(`sort=${"x".repeat(5_000)}`).length).toBeLessThan(200);
});

test("a model's price is that of the provider tried first, and the lowest is named beside it", () => {
  const entryOf = (first: readonly [string, string], other: readonly [string, string]): unknown => {
    const manifests = [
      manifestOf("first", [listing("m", first)], { "/provider/priority": 0 }),
      manifestOf("other", [listing("m", other)], { "/provider/priority": 1 }),
    ];
    const verdicts = { of: () => ({ state: "unverified" as const }) };
    return modelEntry.show({
      model: modelsOf(manifests)[0] as ListedModel,
      verdicts: verdicts as never,
    });
  };
  expect(entryOf(["5", "9"], ["1", "10"])).toMatchObject({
    pricing: { prompt: "0.000005", completion: "0.000009" },
    pricing_from: { prompt: "0.000001", completion: "0.000009" },
  });
  expect(entryOf(["1", "9"], ["5", "9"])).not.toHaveProperty("pricing_from");
});
