import * as fc from "fast-check";
import { stringify } from "yaml";
import { describe, expect, test } from "vitest";

import { quickOrDeep } from "../../../test/support/depth.ts";
import { moveText, parsed } from "../../../test/fixtures/moving-in/move-text.ts";
import type { RawJson } from "../../kernel/index.ts";
import { asList, asMap, isEmpty, pathText, type SettingPath } from "./setting-tree.ts";
import { settingGroups } from "./fates.ts";

/** Lists the paths of all settings of a tree that contain no other settings. */
function leaves(tree: RawJson, path: SettingPath = []): SettingPath[] {
  const members = asList(tree)?.entries() ?? asMap(tree)?.entries();
  if (members === undefined || isEmpty(tree)) return [path];
  return [...members].flatMap(([step, each]) => leaves(each, [...path, step]));
}

/** Lists the text of a path and of every path that contains it. */
function placesOf(path: SettingPath): string[] {
  return path.map((_, at) => pathText(path.slice(0, at + 1)));
}

const scalar = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.constantFrom("os.environ/OPENAI_API_KEY", "openai/gpt-4.1", "http://127.0.0.1:1/v1", "1e-6"),
);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), tie("value"), { maxKeys: 3 }),
  ),
}));

/** A map with keys of `settingGroups`, unknown keys, and values of every type. */
function section(place: string): fc.Arbitrary<unknown> {
  const known = settingGroups.filter((group) => group.in === place).flatMap((group) => group.keys);
  const names = fc.oneof(
    ...(known.length === 0 ? [] : [fc.constantFrom(...known)]),
    fc.string({ minLength: 1, maxLength: 10 }),
  );
  return fc.dictionary(names, value, { maxKeys: 6 });
}

const deployment = fc
  .tuple(
    section("model_list[]"),
    section("model_list[].litellm_params"),
    section("model_list[].model_info"),
    fc.constantFrom("gpt-4.1", "a b", "x*", "claude", "embed"),
    fc.constantFrom(
      "openai/gpt-4.1",
      "anthropic/claude-sonnet-4-5",
      "vertex_ai/gemini",
      "nothing/known",
      "text-embedding-3-small",
      "azure/dep",
      "ollama/llama3:8b",
    ),
  )
  .map(([item, params, info, name, model]) => ({
    ...(item as object),
    model_name: name,
    litellm_params: { ...(params as object), model },
    model_info: info,
  }));

const config = fc.record(
  {
    model_list: fc.oneof(fc.array(fc.oneof(deployment, value), { maxLength: 4 }), value),
    router_settings: fc.oneof(section("router_settings"), value),
    litellm_settings: fc.oneof(section("litellm_settings"), value),
    general_settings: section("general_settings"),
    environment_variables: fc.dictionary(fc.string({ minLength: 1, maxLength: 9 }), scalar),
    extra: value,
  },
  { requiredKeys: [] },
);

describe("every key of any configuration", () => {
  test("ends as carried, ignored with a reason, or named as not carried, exactly once", () => {
    fc.assert(
      fc.property(config, (written) => {
        const text = stringify(written, { aliasDuplicateObjects: false });
        // The key `<<` merges maps in YAML, so a setting cannot have this name.
        fc.pre(!/(^|\s)<<:/.test(text));
        const { notes } = moveText(text);
        const covering = new Map(notes.map(({ path }) => [path, 0]));
        expect(covering.size).toBe(notes.length);
        for (const leaf of leaves(parsed(text)).filter((path) => path.length > 0)) {
          const found = placesOf(leaf).filter((place) => covering.has(place));
          expect(found, pathText(leaf)).toHaveLength(1);
          covering.set(found[0] ?? "", 1);
        }
        // No note names a setting that the configuration lacks.
        expect([...covering].filter(([, seen]) => seen === 0)).toEqual([]);
        for (const { fate, why, what, next } of notes) {
          expect(what).not.toBe("");
          expect(why).not.toBe("");
          expect(fate === "not_carried" && next === "").toBe(false);
        }
      }),
      { numRuns: quickOrDeep(60, 400) },
    );
  });

  test("a setting with an unusable value is reported as not carried", () => {
    const text =
      "model_list:\n  - model_name: a\n    litellm_params:\n" +
      "      {model: openai/gpt-4.1, rpm: many, order: 400, api_key: os.environ/OPENAI_API_KEY}\n";
    const { notes } = moveText(text);
    const fates = Object.fromEntries(notes.map(({ path, fate }) => [path.split(".").at(-1), fate]));
    expect(fates).toEqual({
      model_name: "carried",
      model: "carried",
      rpm: "not_carried",
      order: "not_carried",
      api_key: "carried",
    });
  });
});

/** Has the settings whose fate in `settingGroups` is `carried`, with values that can be carried. */
const CARRIED = `
model_list:
  - model_name: a
    litellm_params:
      model: m
      custom_llm_provider: azure
      api_base: https://r.openai.azure.com
      api_key: os.environ/A_KEY
      rpm: 1
      tpm: 2
      max_parallel_requests: 3
      order: 4
      input_cost_per_token: 1e-6
      output_cost_per_token: 1e-6
      cache_read_input_token_cost: 1e-7
      cache_creation_input_token_cost: 1e-6
      output_cost_per_reasoning_token: 2e-6
    model_info:
      mode: chat
      base_model: azure/b
      max_tokens: 5
      max_input_tokens: 6
      max_output_tokens: 7
      input_cost_per_token: 1e-6
      output_cost_per_token: 1e-6
      cache_read_input_token_cost: 1e-7
      cache_creation_input_token_cost: 1e-6
      output_cost_per_reasoning_token: 2e-6
      supports_function_calling: true
      supports_vision: true
      supports_pdf_input: true
      supports_response_schema: true
      supports_reasoning: true
  - model_name: b
    rpm: 1
    tpm: 2
    max_parallel_requests: 3
    litellm_params:
      model: bedrock/x
      base_url: https://bedrock.example.com
      aws_bedrock_runtime_endpoint: https://bedrock.example.com
      aws_region_name: us-east-1
      region_name: us-east-1
router_settings: {model_group_alias: {x: a}, timeout: 1, stream_timeout: 1}
litellm_settings: {model_alias_map: {y: a}}
general_settings: {global_max_parallel_requests: 9}
`;
const KEYS = `[{key_alias: k, team_id: t, user_id: u, org_id: o, organization_id: o, max_budget: 1,
  budget_duration: 30d, rpm_limit: 1, tpm_limit: 2, max_parallel_requests: 3, blocked: false, models: [x, "*"]}]`;
const TEAMS = `{teams: [{team_id: t, team_alias: T, max_budget: 9, budget_duration: 1mo, rpm_limit: 1,
  tpm_limit: 2, max_parallel_requests: 3, blocked: false, models: []},
  {team_id: s, max_budget: 9, spend: 1}]}`;

test("the table of settings marks a setting as carried only if the importer carries it", () => {
  const trees = { keys: parsed(KEYS), teams: parsed(TEAMS) };
  const timeout = "litellm_settings: {request_timeout: 1}";
  const notes = [...moveText(CARRIED, trees).notes, ...moveText(timeout).notes];
  const carried = new Set(
    notes
      .filter(({ fate }) => fate === "carried")
      .map(({ path }) => path.replaceAll(/\[\d+\]/g, "[]")),
  );
  const promised = settingGroups
    .filter(({ fate }) => fate === "carried")
    .flatMap((group) => group.keys.map((key) => `${group.in}.${key}`));
  expect(promised.length).toBeGreaterThan(40);
  // The import sets no end date, so a key that has one gets a note instead.
  expect(promised.filter((path) => !carried.has(path))).toEqual(["keys_file.keys[].expires"]);
});
