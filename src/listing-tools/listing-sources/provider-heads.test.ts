import { describe, expect, test } from "vitest";
import { validateManifest } from "../../catalog/index.ts";
import {
  ceilingBody,
  findHead,
  headHistory,
  headParameters,
  providerHeads,
} from "./provider-heads.ts";

const PRICING = [
  { type: "prompt", unit: "token", cost_usd_per_million: "0.15" },
  { type: "cached_prompt", unit: "token", cost_usd_per_million: "0.05" },
  { type: "completion", unit: "token", cost_usd_per_million: "0.6" },
] as const;

describe.each(providerHeads().map((head) => [head.provider.id, head] as const))(
  "the head %s",
  (_id, head) => {
    const { provider, endpoint, settlement, wire_profile: profile, asks = [] } = head;
    const everything = { reasons: true, tools: true, structured: true, sampling: true };

    test("makes a valid manifest with a model", () => {
      const baseUrl = asks.reduce((url, name) => url.replace(name, "name-1"), endpoint.base_url);
      const manifest = {
        manifest_version: "1",
        provider: { privacy_policy_url: "https://operator.example/privacy", ...provider },
        endpoint: { ...endpoint, base_url: baseUrl },
        settlement,
        models: [false, true].map((reasons) => ({
          id: `lab/model-${String(reasons)}`,
          context_length: 100_000,
          streaming: true,
          supported_parameters: headParameters(head, { ...everything, reasons }),
          pricing: PRICING,
        })),
        ...(profile !== undefined && { wire_profile: profile }),
      };
      expect(validateManifest(JSON.stringify(manifest))).toMatchObject({ ok: true });
    });

    test("is reached over TLS, or on the machine itself", () => {
      const url = new URL(endpoint.base_url);
      expect(url.protocol).toBe(head.use === "local" ? "http:" : "https:");
      expect(url.hostname === "127.0.0.1").toBe(head.use === "local");
      expect(endpoint.api_key_env === undefined).toBe(head.use === "local");
      expect(provider.privacy_policy_url === undefined).toBe(head.use === "local");
      expect(endpoint.base_url.match(/[A-Z]{2,}/g) ?? []).toEqual(asks);
    });
  },
);

test("every provider has one head, and each key variable belongs to one origin", () => {
  const ids = providerHeads().map(({ provider }) => provider.id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.length).toBe(28);
  const origins = new Map<string, string>();
  for (const { endpoint } of providerHeads()) {
    if (endpoint.api_key_env === undefined) continue;
    const { origin } = new URL(endpoint.base_url);
    expect(origins.get(endpoint.api_key_env) ?? origin).toBe(origin);
    origins.set(endpoint.api_key_env, origin);
  }
});

test("a model declares the parameters that both its provider and the model accept", () => {
  const openai = findHead("openai");
  if (openai === undefined) throw new Error("there is a head of OpenAI");
  const facts = { tools: false, structured: false, sampling: true, maxOutputTokens: 9 };
  const plain = headParameters(openai, { ...facts, reasons: false });
  expect(plain["max_tokens"]).toEqual({ type: "integer", min: 1, max: 9, unit: "tokens" });
  expect(plain).toHaveProperty("temperature");
  expect(plain).not.toHaveProperty("tools");
  const reasoning = headParameters(openai, { ...facts, reasons: true, efforts: ["low", "max"] });
  expect(reasoning).not.toHaveProperty("temperature");
  expect(reasoning).not.toHaveProperty("max_tokens");
  expect(reasoning).toHaveProperty("max_completion_tokens");
  expect(reasoning["reasoning_effort"]).toEqual({ type: "enum", values: ["low", "max"] });
});

test("a Claude model declares the efforts that the sources state of it, and none otherwise", () => {
  const anthropic = findHead("anthropic");
  if (anthropic === undefined) throw new Error("there is a head of Anthropic");
  const facts = { reasons: true, tools: true, structured: false, sampling: false };
  const efforts = ["low", "high", "max"];
  expect(headParameters(anthropic, { ...facts, efforts })["effort"]).toEqual({
    type: "enum",
    values: efforts,
  });
  expect(headParameters(anthropic, facts)).not.toHaveProperty("effort");
});

test.each([
  ["claude-fable-5-1", { type: "enum", values: ["auto", "none"] }],
  ["claude-opus-5-5", { type: "enum", values: ["auto", "none"] }],
  ["claude-sonnet-5-5", { type: "enum", values: ["auto", "none"] }],
  ["claude-fable-5", { type: "boolean" }],
  ["claude-opus-5", { type: "boolean" }],
  ["claude-haiku-5-5", { type: "boolean" }],
])("the head of Anthropic lists the tool choices that %s takes: %j", (upstreamId, choices) => {
  const anthropic = findHead("anthropic");
  if (anthropic === undefined) throw new Error("there is a head of Anthropic");
  const facts = { upstreamId, reasons: true, structured: true, sampling: false };
  expect(headParameters(anthropic, { ...facts, tools: true })["tool_choice"]).toEqual(choices);
  expect(headParameters(anthropic, { ...facts, tools: false })).not.toHaveProperty("tool_choice");
});

test.each([
  ["anthropic", "claude-haiku-4-5-20251001", ["system-first"]],
  ["anthropic", "claude-opus-4-7", ["system-first"]],
  ["anthropic", "claude-opus-4-8", undefined],
  ["anthropic", "claude-sonnet-5", undefined],
  ["fireworks", "accounts/fireworks/models/qwen3p8-max", ["system-first"]],
  ["fireworks", "accounts/fireworks/models/kimi-k3", undefined],
  ["moonshot", "kimi-k3", undefined],
  ["openrouter", "qwen/qwen3.8-max", ["system-for-developer", "system-first"]],
  ["openrouter", "moonshotai/kimi-k3", ["system-for-developer"]],
  ["openrouter", "openai/gpt-5.2", undefined],
  ["openai", "gpt-5.2", undefined],
  ["openai", "gpt-5.4-mini", ["no-effort-with-tools"]],
  ["openai", "gpt-5.6-terra", ["no-effort-with-tools"]],
  ["openai", "gpt-6-astra", undefined],
])("the head of %s has these history rules for %s: %j", (provider, upstreamId, rules) => {
  const head = findHead(provider);
  if (head === undefined) throw new Error("the provider has a head");
  expect(headHistory(head, upstreamId)).toEqual(rules);
});

test.each([
  "cerebras",
  "deepinfra",
  "deepseek",
  "fireworks",
  "mistral",
  "moonshot",
  "perplexity",
  "qwen",
  "together",
  "zai",
])("the role developer, which %s refuses, is sent there as system", (provider) => {
  expect(findHead(provider)?.wire_profile?.history).toContain("system-for-developer");
});

test("the price ceiling for OpenRouter is the listing's own prices, and OpenAI gets none", () => {
  const [openrouter, openai] = [findHead("openrouter"), findHead("openai")];
  if (openrouter === undefined || openai === undefined) throw new Error("both have heads");
  expect(ceilingBody(openrouter, PRICING)).toEqual({
    provider: { max_price: { prompt: "0.15", completion: "0.6" } },
  });
  expect(ceilingBody(openai, PRICING)).toBeUndefined();
});
