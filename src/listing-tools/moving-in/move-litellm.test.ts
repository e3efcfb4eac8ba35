import { describe, expect, test } from "vitest";

import { moveText, parsed } from "../../../test/fixtures/moving-in/move-text.ts";
import type { MovedConfig } from "./move-litellm.ts";
import { priceFileListings } from "./price-listing.ts";

/** Writes a configuration of deployments: their names, parameters and `model_info` as flow maps. */
function config(...deployments: readonly (readonly [string, string, string?])[]): string {
  const items = deployments.map(
    ([name, params, info = "{}"]) =>
      `  - model_name: ${name}\n    litellm_params: ${params}\n    model_info: ${info}`,
  );
  return `model_list:\n${items.join("\n")}\n`;
}

const OPENAI_KEY = "api_key: os.environ/OPENAI_API_KEY";
const PRICED = "input_cost_per_token: 1e-06, output_cost_per_token: 2e-06";

function fateOf({ notes }: MovedConfig, path: string): string {
  const note = notes.find((each) => each.path === path);
  return note === undefined ? "no note" : `${note.fate}: ${note.why}`;
}

function listed({ listings }: MovedConfig): string[] {
  return listings.map(({ id, providerId, upstreamId }) => `${id} ${providerId} ${upstreamId}`);
}

describe("a deployment of a known provider", () => {
  test("is listed under the client's name with the shipped endpoint and prices", () => {
    const moved = moveText(config(["chat", `{model: openai/gpt-4.1, ${OPENAI_KEY}}`]));
    expect(listed(moved)).toEqual(["chat openai gpt-4.1"]);
    const [manifest] = moved.manifests;
    expect(manifest?.endpoint).toMatchObject({
      base_url: "https://api.openai.com/v1",
      api_key_env: "OPENAI_API_KEY",
    });
    expect(manifest?.models[0]?.pricing).toContainEqual({
      type: "prompt",
      unit: "token",
      cost_usd_per_million: "2",
    });
  });

  test("is recognized by the model's prefix, by the model's name alone, and by custom_llm_provider", () => {
    const moved = moveText(
      config(
        ["a", `{model: openai/gpt-4.1, ${OPENAI_KEY}}`],
        ["b", `{model: gpt-4.1, ${OPENAI_KEY}}`],
        ["c", `{model: gpt-4.1, custom_llm_provider: openai, ${OPENAI_KEY}}`],
        ["d", "{model: claude-sonnet-4-5}"],
      ),
    );
    const providers = moved.listings.map(({ providerId }) => providerId);
    expect(providers).toEqual(["openai", "openai", "openai", "anthropic"]);
  });
});

test.each([
  ["fireworks_ai/glm-5p3", "accounts/fireworks/models/glm-5p3"],
  ["fireworks_ai/glm-5p3-fast", "accounts/fireworks/routers/glm-5p3-fast"],
  ["fireworks_ai/glm-5p3-us", "accounts/fireworks/models/glm-5p3-us"],
  ["fireworks_ai/auto-instant", "accounts/fireworks/routers/auto-instant"],
  ["fireworks_ai/firerouter/a", "accounts/fireworks/routers/firerouter/a"],
  ["fireworks_ai/routers/rune", "accounts/fireworks/routers/rune"],
  ["fireworks_ai/models/auto", "accounts/fireworks/models/auto"],
  ["fireworks_ai/accounts/acme/models/own", "accounts/acme/models/own"],
  ["azure/o_series/dep", "dep"],
  ["azure/gpt5_series/dep", "dep"],
  ["bedrock/converse/anthropic.claude-opus-4-5", "anthropic.claude-opus-4-5"],
])("%s is sent upstream as LiteLLM sends it: %s", (model, upstreamId) => {
  const address = model.startsWith("azure") ? ', api_base: "https://r.openai.azure.com"' : "";
  const params = `{model: ${model}, aws_region_name: us-east-1${address}, ${PRICED}}`;
  expect(moveText(config(["a", params])).listings).toMatchObject([{ id: "a", upstreamId }]);
});

describe("a deployment at another server", () => {
  test("never has the prices of the lab whose wire the server speaks", () => {
    const params = `{model: openai/gpt-4.1, api_base: "https://llm.example.com/v1", ${OPENAI_KEY}}`;
    const moved = moveText(config(["a", params]));
    expect(moved.listings).toMatchObject([{ providerId: "llm-example-com", isReady: false }]);
    expect(moved.manifests[0]?.models[0]?.pricing[0]?.cost_usd_per_million).toBe("9999999");
  });

  test("has the history rules that its model needs", () => {
    const params = `{model: hosted_vllm/Qwen3.6-27B, api_base: "http://gpu:8000/v1", ${PRICED}}`;
    const [manifest] = moveText(config(["a", params])).manifests;
    expect(manifest?.listing_terms?.["a"]?.history).toContain("system-first");
  });

  test("is left out if its address is an unset variable", () => {
    const params = `{model: openai/gpt-4.1, api_base: os.environ/OUR_BASE, ${OPENAI_KEY}}`;
    const moved = moveText(config(["a", params]));
    expect(moved.manifests).toEqual([]);
    expect(fateOf(moved, "model_list[0]")).toContain("a variable that is not set");
    const set = moveText(config(["a", params]), { addressOf: () => "http://gpu:8000/v1" });
    expect(set.manifests[0]?.endpoint.base_url).toBe("http://gpu:8000/v1");
  });

  test.each([
    ["ollama/llama3", "http://localhost:11434", "http://localhost:11434/v1"],
    ["hosted_vllm/m", "http://gpu:8000/v1/", "http://gpu:8000/v1"],
    ["openai/m", "http://gpu:8000/v1/chat/completions", "http://gpu:8000/v1"],
    ["azure/dep", "https://r.openai.azure.com/", "https://r.openai.azure.com/openai/v1"],
    [
      "azure/dep",
      "https://r.openai.azure.com/openai/deployments/dep",
      "https://r.openai.azure.com/openai/v1",
    ],
    ["anthropic/m", "https://proxy.example.com", "https://proxy.example.com/v1"],
  ])("%s with the api_base %s has the base URL %s", (model, apiBase, baseUrl) => {
    const moved = moveText(config(["a", `{model: ${model}, api_base: "${apiBase}", ${PRICED}}`]));
    expect(moved.manifests[0]?.endpoint.base_url).toBe(baseUrl);
  });

  test.each([
    ["http://192.168.1.9:8000", true],
    ["http://100.101.102.103:8000", true],
    ["http://198.18.0.7:8000", true],
    ["http://[fd00::7]:8000", true],
    ["http://gpu.lan:8000", true],
    ["https://[2606:4700::1111]:8000", false],
    ["https://gpu.example.com", false],
  ])("at %s needs the setting for private addresses: %s", (apiBase, isNeeded) => {
    const params = `{model: hosted_vllm/m, api_base: "${apiBase}", ${PRICED}}`;
    const { listings, settings } = moveText(config(["a", params]));
    expect(listings).toHaveLength(1);
    const allowed = settings.filter(({ setting }) => setting === "allow_private_upstreams");
    expect(allowed).toHaveLength(isNeeded ? 1 : 0);
  });

  test.each([
    ["a password", "https://user:secret-word@h.example/v1"],
    ["a query", "https://h.example/v1?key=secret-word"],
  ])("with %s in its address is left out, and the secret is not shown", (_what, apiBase) => {
    const moved = moveText(config(["a", `{model: openai/m, api_base: "${apiBase}"}`]));
    expect(moved.manifests).toEqual([]);
    expect(JSON.stringify(moved)).not.toContain("secret-word");
  });
});

test("a deployment at Azure has the prices and limits of its base_model, and is staged with the next step", () => {
  const params = `{model: azure/my-dep, api_base: "https://r.openai.azure.com"}`;
  const moved = moveText(config(["a", params, "{base_model: azure/gpt-5.4}"]));
  expect(moved.listings[0]).toMatchObject({ isReady: false, stagedBecause: ["base-model"] });
  const [model] = moved.manifests[0]?.models ?? [];
  expect(model).toMatchObject({ upstream_id: "my-dep" });
  expect(model?.pricing[0]?.cost_usd_per_million).toBe("2.5");
  expect(model?.context_length).toBeGreaterThan(100_000);
  expect(moved.notes.map(({ next }) => next).join("\n")).toMatch(
    /with your contract; then set is_ready to true and remove staged_because/,
  );
});

test("a model named by its catalog id is sent upstream under the provider's own name", () => {
  const moved = moveText(config(["a", "{model: anthropic/claude-opus-5.5}"]));
  expect(moved.listings[0]).toMatchObject({ isReady: true });
  expect(moved.manifests[0]?.models[0]?.upstream_id).toBe("claude-opus-5-5");
});

describe("a deployment that cannot be a listing is reported with the reason", () => {
  test.each([
    ["a wildcard", '"*"', "{model: openai/*}", /one model/],
    ["embeddings, by mode", "e", "{model: openai/x}", /embeddings/, "{mode: embedding}"],
    ["images, by name", "e", "{model: gemini/gemini-3-pro-image-preview}", /images/],
    ["a cloud of hourly tokens", "v", "{model: vertex_ai/gemini-2.5-pro}", /token of an hour/],
    ["an unknown provider", "u", "{model: unlisted/model}", /is not known here/],
    [
      "another LiteLLM's proxy without its address",
      "p",
      "{model: litellm_proxy/gpt-4.1}",
      /needs api_base/,
    ],
    [
      "a provider with a host of its own",
      "p",
      "{model: codestral/codestral-latest}",
      /needs api_base/,
    ],
    ["a server whose address is not written", "p", "{model: hosted_vllm/m}", /needs api_base/],
    ["a model that is a variable", "m", "{model: os.environ/MODEL}", /model is a variable/],
    ["a tag no manifest can hold", "t", "{model: ollama/qwen3:0.6b}", /no manifest can hold/],
  ])("%s", (_what, name, params, why, info = "{}") => {
    const moved = moveText(config([name, params, info]));
    expect(moved.listings).toEqual([]);
    expect(moved.notes).toHaveLength(1);
    expect(fateOf(moved, "model_list[0]")).toMatch(/^not_carried/);
    expect(fateOf(moved, "model_list[0]")).toMatch(why);
  });

  test("a name that is no valid id is reported, and its valid aliases are listed", () => {
    const text =
      config(["'a b'", `{model: openai/gpt-4.1, ${OPENAI_KEY}}`]) +
      'router_settings: {model_group_alias: {fast: "a b", "x y": "a b", lost: gone}}\n';
    const moved = moveText(text);
    expect(listed(moved)).toEqual(["fast openai gpt-4.1"]);
    expect(fateOf(moved, "model_list[0].model_name")).toMatch(/^not_carried: an id is/);
    expect(fateOf(moved, "router_settings.model_group_alias")).toMatch(
      /^not_carried: 2 of 3 aliases .*: x y, lost; the others are listed/,
    );
  });
});

test("an alias that is also the name of a deployment leads only to its target, as in LiteLLM", () => {
  const text =
    config(
      ["cheap", `{model: openai/gpt-4.1-mini, ${OPENAI_KEY}}`],
      ["chat", `{model: openai/gpt-4.1, ${OPENAI_KEY}}`],
      ["old", `{model: openai/gpt-4o, ${OPENAI_KEY}}`],
      ["same", `{model: openai/gpt-4o-mini, ${OPENAI_KEY}}`],
    ) + "router_settings: {model_group_alias: {cheap: chat, old: gone, older: old, same: same}}\n";
  const moved = moveText(text);
  expect(listed(moved)).toEqual([
    "chat openai gpt-4.1",
    "cheap openai gpt-4.1",
    "older openai gpt-4o",
    "same openai gpt-4o-mini",
  ]);
  expect(fateOf(moved, "model_list[0]")).toBe(
    "ignored: its name is an alias of another model, so LiteLLM sends no request to it",
  );
});

test("an alias of an alias leads to the deployment, and one without a model takes no name away", () => {
  const text =
    config(
      ["hidden", `{model: openai/gpt-4.1-mini, ${OPENAI_KEY}}`],
      ["chat", `{model: openai/gpt-4.1, ${OPENAI_KEY}}`],
    ) +
    "router_settings: {model_group_alias: {middle: chat, hidden: {hidden: true}}}\n" +
    "litellm_settings: {model_alias_map: {first: middle, back: {model: middle}}}\n";
  const moved = moveText(text);
  expect(listed(moved).toSorted()).toEqual([
    "back openai gpt-4.1",
    "chat openai gpt-4.1",
    "first openai gpt-4.1",
    "hidden openai gpt-4.1-mini",
    "middle openai gpt-4.1",
  ]);
  expect(fateOf(moved, "litellm_settings.model_alias_map")).toMatch(/^carried/);
});

describe("deployments of one name", () => {
  test("become one listing each, in separate manifests where the key, order or model differs", () => {
    const moved = moveText(
      config(
        ["a", `{model: openai/gpt-4.1, ${OPENAI_KEY}}`],
        ["a", "{model: openai/gpt-4.1, api_key: os.environ/OTHER_KEY}"],
        ["a", `{model: openai/gpt-4.1, ${OPENAI_KEY}, order: 2}`],
        ["a", `{model: openai/gpt-4.1-mini, ${OPENAI_KEY}}`],
        ["b", `{model: openai/gpt-4.1, ${OPENAI_KEY}}`],
      ),
    );
    expect(listed(moved)).toEqual([
      "a openai gpt-4.1",
      "a openai-2 gpt-4.1",
      "a openai-3 gpt-4.1",
      "a openai-4 gpt-4.1-mini",
      "b openai gpt-4.1",
    ]);
    expect(moved.manifests.map(({ provider }) => provider.priority)).toEqual([0, 0, 2, 0]);
    expect(new Set(moved.manifests.map(({ provider }) => provider.id)).size).toBe(4);
  });

  test("that are identical become one listing, and the second is reported as ignored", () => {
    const same = ["a", `{model: openai/gpt-4.1, ${OPENAI_KEY}}`] as const;
    const moved = moveText(config(same, same));
    expect(listed(moved)).toEqual(["a openai gpt-4.1"]);
    expect(fateOf(moved, "model_list[1]")).toMatch(/^ignored: another deployment/);
  });

  test("with rate limits get a pool with those limits and a declared capacity", () => {
    const limits = "rpm: 60, tpm: 9000, max_parallel_requests: 4";
    const limited = `{model: openai/gpt-4.1, ${OPENAI_KEY}, ${limits}}`;
    const moved = moveText(
      config(["a", limited], ["b", `{model: openai/gpt-4.1-mini, ${OPENAI_KEY}}`]),
    );
    expect(moved.pools).toEqual([
      {
        id: "openai-1",
        listings: ["openai/a"],
        org_share: "three_quarters",
        requests_per_minute: 60,
        tokens_per_minute: 9000,
        concurrent: 4,
      },
    ]);
    expect(moved.manifests[0]?.models[0]?.capacity).toEqual([
      { type: "request", per: "minute", value: 60 },
    ]);
    expect(moved.settings).toContainEqual({ setting: "pools_file", value: "pools.yaml" });
  });
});

describe("provider keys", () => {
  test("are never copied: each key in the file gets a variable name of its own", () => {
    const moved = moveText(
      config(
        ["a", "{model: openai/gpt-4.1, api_key: sk-first-000000001}"],
        ["b", "{model: openai/gpt-4.1, api_key: sk-second-00000002}"],
        ["c", "{model: openai/gpt-4.1-mini, api_key: sk-first-000000001}"],
        ["d", "{model: openai/gpt-4.1-mini, api_key: os.environ/OPENAI_API_KEY}"],
        ["e", "{model: gemini/gemini-2.5-flash}"],
      ),
    );
    const names = moved.manifests.map(({ endpoint }) => endpoint.api_key_env);
    const [first, second] = ["OPENAI_API_KEY_2", "OPENAI_API_KEY_3"];
    expect(names).toEqual([first, second, "OPENAI_API_KEY", "GEMINI_API_KEY"]);
    expect(JSON.stringify(moved)).not.toMatch(/sk-first|sk-second/);
  });

  test("of another LiteLLM's proxy are in the variable that LiteLLM reads, and the lab's are not sent there", () => {
    const server = 'api_base: "https://llm.example.com/v1"';
    const moved = moveText(
      config(["a", `{model: litellm_proxy/m, ${server}}`], ["b", `{model: openai/m, ${server}}`]),
    );
    const names = moved.manifests.map(({ endpoint }) => endpoint.api_key_env);
    expect(names).toEqual(["LITELLM_PROXY_API_KEY", undefined]);
    expect(fateOf(moved, "model_list[0].litellm_params.model")).toBe(
      "carried: no key is written, so the manifest names the variable that LiteLLM reads",
    );
    expect(moved.notes.map(({ next }) => next)).toContain(
      "set LITELLM_PROXY_API_KEY in the environment of tokenmarket serve, or delete api_key_env " +
        "from the manifest if the server needs no key",
    );
  });

  test("in a variable of the gateway itself or with an invalid variable name get another one", () => {
    const moved = moveText(
      config(
        ["a", "{model: openai/gpt-4.1, api_key: os.environ/DATABASE_URL}"],
        ["b", "{model: openai/gpt-4.1, api_key: os.environ/my-key}"],
      ),
    );
    expect(moved.manifests.map(({ endpoint }) => endpoint.api_key_env)).toEqual([
      "OPENAI_API_KEY",
      "OPENAI_API_KEY_2",
    ]);
    expect(fateOf(moved, "model_list[0].litellm_params.api_key")).toContain(
      "belongs to this program",
    );
  });

  test("that are sent to two servers get both origins in provider_key_origins", () => {
    const azure = (host: string): string =>
      `{model: azure/d, api_base: "https://${host}.openai.azure.com", api_key: os.environ/AZ, ${PRICED}}`;
    const moved = moveText(config(["a", azure("one")], ["a", azure("two")]));
    const value = "AZ=https://one.openai.azure.com,AZ=https://two.openai.azure.com";
    expect(moved.settings).toEqual([{ setting: "provider_key_origins", value }]);
  });
});

describe("prices", () => {
  const server = 'api_base: "https://llm.example.com/v1"';
  const priceOf = (params: string, info = "{max_input_tokens: 1000}"): unknown => {
    const moved = moveText(config(["a", `{model: openai/m, ${server}, ${params}}`, info]));
    const [model] = moved.manifests[0]?.models ?? [];
    return model?.is_ready === false
      ? moved.listings[0]?.stagedBecause
      : model?.pricing.map(({ type, cost_usd_per_million: cost }) => `${type} ${cost}`);
  };

  test.each([
    ["2e-07", "8E-07", ["prompt 0.2", "completion 0.8"]],
    ["0.0000000000001", "0.1234567", ["prompt 0.000001", "completion 123456.7"]],
    ["0.0000029999900000000002", "1e-6", ["prompt 2.99999", "completion 1"]],
    ["0", "0", ["prompt 0", "completion 0"]],
    ["-1", "1e-6", ["no-price"]],
    ["1e-6", "1e99", ["no-price"]],
  ])("of the file are exact, or the listing is staged: %s, %s", (prompt, completion, expected) => {
    const written = `input_cost_per_token: ${prompt}, output_cost_per_token: ${completion}`;
    expect(priceOf(written)).toEqual(expected);
  });

  test("a listing without a price or a context limit is staged", () => {
    expect(priceOf("rpm: 1", "{}")).toEqual(["no-price", "no-limit"]);
    expect(priceOf(PRICED, "{}")).toEqual(["no-limit"]);
  });

  test("of the shipped listing win, and a different price of the file is reported with both amounts", () => {
    const params = `{model: openai/gpt-4.1, ${OPENAI_KEY}, input_cost_per_token: 9e-06, output_cost_per_token: 8e-06}`;
    const moved = moveText(config(["a", params]));
    const at = "model_list[0].litellm_params";
    expect(fateOf(moved, `${at}.input_cost_per_token`)).toMatch(
      /^not_carried: .*has \$2, the file \$9/,
    );
    expect(fateOf(moved, `${at}.output_cost_per_token`)).toBe(
      "carried: the shipped listing has the same price",
    );
  });

  test("of the price file apply only to exactly that model at exactly that provider", () => {
    const text = JSON.stringify({
      "gpt-x": entry("openai", 1e-6),
      "gpt-x-2024-05-13": entry("openai", 5e-6),
      "azure/gpt-x": entry("azure", 2e-6),
      "groq/gpt-x": entry("groq", 3e-6),
      "fireworks_ai/accounts/fireworks/routers/glm-x-fast": entry("fireworks_ai", 4e-6),
    });
    const file = { dated: "2026-08-01", bytes: Buffer.from(text), document: parsed(text) };
    const fromPriceFile = priceFileListings(file);
    const finder = { shipped: () => undefined, shippedIds: () => [], fromPriceFile };
    const azure = `{model: azure/dep, api_base: "https://r.openai.azure.com"}`;
    const moved = moveText(
      config(
        ["a", "{model: openai/gpt-x}"],
        ["b", "{model: openai/gpt-x-2024-05-13}"],
        ["c", azure, "{base_model: azure/gpt-x}"],
        ["d", azure, "{base_model: gpt-x}"],
        ["e", "{model: openai/unlisted}"],
        ["f", `{model: openai/gpt-x, ${server}}`],
        ["g", "{model: fireworks_ai/glm-x-fast}"],
      ),
      { finder },
    );
    const prompts = moved.manifests
      .flatMap(({ models }) => models)
      .map(({ id, pricing, is_ready: isReady }) => {
        return `${id} ${isReady === false ? "staged" : pricing[0]?.cost_usd_per_million}`;
      });
    expect(prompts.toSorted()).toEqual(["a 1", "b 5", "c 2", "d 2", "e staged", "f staged", "g 4"]);
  });
});

function entry(litellm_provider: string, price: number): object {
  const prices = { input_cost_per_token: price, output_cost_per_token: price };
  return {
    litellm_provider,
    mode: "chat",
    max_input_tokens: 1000,
    max_output_tokens: 100,
    ...prices,
  };
}

test("settings of the installation are carried where the gateway has the setting and its rules allow the value", () => {
  const text =
    "router_settings: {timeout: 120, stream_timeout: 30.0}\n" +
    "litellm_settings: {request_timeout: 600}\n" +
    "general_settings: {global_max_parallel_requests: 50, max_parallel_requests: 5}\n";
  const moved = moveText(text, {
    settingProblem: ({ setting }) =>
      setting === "timeouts.first_content_ms" ? "too short" : undefined,
  });
  expect(moved.settings).toEqual([
    { setting: "timeouts.generation_ms", value: 120_000 },
    { setting: "limits.platform_concurrent_requests", value: 50 },
  ]);
  expect(fateOf(moved, "router_settings.stream_timeout")).toBe("not_carried: too short");
  expect(fateOf(moved, "litellm_settings.request_timeout")).toMatch(/^ignored: .*120000 already/);
  expect(fateOf(moved, "general_settings.max_parallel_requests")).toMatch(/^not_carried/);
});
