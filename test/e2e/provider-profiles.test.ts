import { describe, expect, test } from "vitest";
import {
  STRICT_PROVIDERS,
  type StrictProvider,
} from "../support/strict-providers/strict-providers.ts";
import {
  ceilingBody,
  headParameters,
} from "../../src/listing-tools/listing-sources/provider-heads.ts";
import { type ProviderHead, providerHeads } from "../../src/listing-tools/index.ts";
import { textModel, withAccount, withGateway } from "../support/gateway.ts";
import { bearer, httpCall, type HttpAnswer } from "../support/http-call.ts";

/*
 * Tests each provider's manifest head (all but its models) with a simulated provider that refuses
 * what the real one refuses. These refusals were recorded independently of the head.
 */
const PRICING = [
  { type: "prompt", unit: "token", cost_usd_per_million: "1" },
  { type: "completion", unit: "token", cost_usd_per_million: "10" },
] as const;

function manifestOf(head: ProviderHead): object {
  const { provider, endpoint, settlement, wire_profile } = head;
  const { id } = provider;
  const ids = [`${id}/plain`, `${id}/thinks`];
  const body = ceilingBody(head, PRICING);
  return {
    manifest_version: "1",
    provider: { privacy_policy_url: "https://example.com/privacy", ...provider },
    endpoint: {
      ...endpoint,
      base_url: `{simulator}/as-${id}/v1`,
      ...(endpoint.api_key_env !== undefined && { api_key_env: "TEST_PROVIDER_KEY" }),
    },
    settlement,
    models: ids.map((model, index) =>
      textModel(model, {
        supported_parameters: headParameters(head, {
          reasons: index === 1,
          tools: true,
          structured: true,
          sampling: true,
        }),
      }),
    ),
    ...(wire_profile !== undefined && { wire_profile }),
    ...(body !== undefined && {
      listing_terms: Object.fromEntries(ids.map((model) => [model, { body }])),
    }),
  };
}

const gateway = withGateway({ manifests: providerHeads().map(manifestOf) });

/** An account per provider: all requests together are more than one key may send in a minute. */
const accounts = new Map(
  providerHeads().map(({ provider }) => [provider.id, withAccount(gateway, "5.00")]),
);

async function ask(
  path: string,
  body: Readonly<Record<string, unknown>> & { readonly model: string },
): Promise<HttpAnswer> {
  const account = accounts.get(body.model.split("/")[0] ?? "");
  if (account === undefined) throw new Error(`no provider has ${body.model}`);
  return await httpCall(gateway.url + path, { body, headers: bearer(account.key) });
}

const CHAT = "/v1/chat/completions";
const MESSAGES = "/v1/messages";
const marked = { type: "ephemeral" };
const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

/** Fields that clients send and that one provider or another refuses. */
const rich = {
  temperature: 0.5,
  top_p: 0.9,
  seed: 7,
  stop: ["zzz"],
  n: 1,
  user: "u1",
  store: false,
  frequency_penalty: 0.1,
  presence_penalty: 0.1,
  max_completion_tokens: 100,
  reasoning_effort: "low",
  messages: [
    { role: "developer", content: "Be brief." },
    { role: "user", name: "ada", content: [{ type: "text", text: "Hi", cache_control: marked }] },
    { role: "assistant", content: "Hello", refusal: null, reasoning_content: "hm" },
    { role: "user", content: "How are you?" },
  ],
};

const toolsA = [
  { type: "function", function: { name: "weather", parameters: schema, strict: true } },
];
const calledA = {
  max_tokens: 200,
  tools: toolsA,
  messages: [
    { role: "user", content: "The weather in Oslo?" },
    {
      role: "assistant",
      content: null,
      tool_calls: [
        { id: "call_1", type: "function", function: { name: "weather", arguments: "{}" } },
      ],
    },
    { role: "tool", tool_call_id: "call_1", content: [{ type: "text", text: "rain" }] },
  ],
};
const asks = {
  max_tokens: 200,
  messages: [{ role: "user", content: "Ask weather about Oslo" }],
};
const asksA = { ...asks, tools: toolsA };

const richB = {
  max_tokens: 100,
  temperature: 0.5,
  top_p: 0.9,
  stop_sequences: ["zzz"],
  metadata: { user_id: "u1" },
  system: [{ type: "text", text: "Be brief.", cache_control: marked }],
  messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
};
const toolsB = [{ name: "weather", input_schema: schema }];
const calledB = {
  max_tokens: 200,
  tools: toolsB,
  messages: [
    { role: "user", content: "The weather in Oslo?" },
    {
      role: "assistant",
      content: [{ type: "tool_use", id: "toolu_1", name: "weather", input: {} }],
    },
    {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "rain" }],
    },
  ],
};
const asksB = { ...asks, tools: toolsB };

interface Case {
  readonly what: string;
  readonly path: string;
  readonly body: object;
  /** The field for which this provider refuses the request; undefined if it does not. */
  readonly refusedFor?: (strict: StrictProvider) => string | undefined;
}

const withoutTools = ({ knows }: StrictProvider): string | undefined =>
  knows?.has("tools") === false ? "tools" : undefined;
const withChoice =
  (word: string) =>
  (strict: StrictProvider): string | undefined =>
    strict.choices?.has(word) === false ? "tool_choice" : withoutTools(strict);
const withWhole =
  (tokens: number) =>
  ({ wholeMax = tokens }: StrictProvider): string | undefined =>
    tokens > wholeMax ? "stream" : undefined;

const named = { type: "function", function: { name: "weather" } };

const CASES: readonly Case[] = [
  {
    what: "all usual chat fields, streamed",
    path: CHAT,
    body: { ...rich, stream_options: { include_usage: true }, stream: true },
  },
  { what: "all usual chat fields, unstreamed", path: CHAT, body: rich, refusedFor: withWhole(100) },
  {
    what: "a long answer, unstreamed",
    path: CHAT,
    body: { max_tokens: 5000, messages: [{ role: "user", content: "Hi" }] },
    refusedFor: withWhole(5000),
  },
  {
    what: "a tool result",
    path: CHAT,
    body: { ...calledA, stream: true },
    refusedFor: withoutTools,
  },
  {
    what: "a required tool call",
    path: CHAT,
    body: { ...asksA, tool_choice: "required", stream: true },
    refusedFor: (strict) =>
      strict.choices?.has("any") === true ? undefined : withChoice("required")(strict),
  },
  {
    what: "a call of a named tool",
    path: CHAT,
    body: { ...asksA, tool_choice: named, stream: true },
    refusedFor: withChoice("named"),
  },
  { what: "all usual messages fields, streamed", path: MESSAGES, body: { ...richB, stream: true } },
  {
    what: "a tool result on the messages route",
    path: MESSAGES,
    body: { ...calledB, stream: true },
    refusedFor: withoutTools,
  },
];

function refusalOf(field: string): RegExp {
  return new RegExp(`^400 .*"${field} `, "s");
}

describe.concurrent.each(providerHeads().map((head) => head.provider.id))("%s", (id) => {
  const strict = STRICT_PROVIDERS[id];
  if (strict === undefined) throw new Error(`the simulator does not play ${id}`);

  test.each(CASES)("accepts $what, or the client gets a 400 that names the field", async (each) => {
    // For a model that reasons, only top-level parameters differ, so it gets only this body.
    const models = each.body === rich ? ["plain", "thinks"] : ["plain"];
    for (const model of models.map((name) => `${id}/${name}`)) {
      const { status, text } = await ask(each.path, { ...each.body, model });
      const field = each.refusedFor?.(strict);
      const told =
        field === undefined ? /^200 .*"(?:prompt|input|output)_tokens":[1-9]/s : refusalOf(field);
      expect(`${status} ${text}`).toMatch(told);
    }
  });
});

test("thought signatures return to Google with its tool calls, and hidden thoughts are billed", async () => {
  const model = "google/plain";
  const first = await ask(MESSAGES, { ...asksB, model });
  const answer = JSON.parse(first.text) as {
    content: { type: string; id: string; name: string; input: object }[];
    usage: { output_tokens: number };
  };
  const use = answer.content.find(({ type }) => type === "tool_use");
  expect(use?.id).toContain("_tmsig_");
  expect(answer.usage.output_tokens).toBeGreaterThan(40);
  const result = { type: "tool_result", tool_use_id: use?.id, content: "rain" };
  const second = await ask(MESSAGES, {
    ...asksB,
    model,
    messages: [
      ...asksB.messages,
      { role: "assistant", content: answer.content },
      { role: "user", content: [result] },
    ],
  });
  expect(second.status).toBe(200);
  const sent = gateway.simulator.calls().findLast(({ path }) => path.includes("as-google"));
  expect(JSON.stringify(sent?.body)).not.toContain("skip_thought_signature_validator");
  expect(JSON.stringify(sent?.body)).toContain("thought_signature");
});

test("fields that are dropped for a provider are named in x-tm-dropped-params", async () => {
  const { headers } = await ask(CHAT, { ...rich, model: "mistral/plain", stream: true });
  expect(String(headers["x-tm-dropped-params"]).split(/, ?/)).toEqual(
    expect.arrayContaining([
      "user",
      "messages.name",
      "messages.reasoning_content",
      "cache_control",
    ]),
  );
});

test("a request to an aggregator has the prices of its listing as max_price", async () => {
  const upstream = { only: ["x"] };
  await ask(CHAT, { ...asksA, model: "openrouter/plain", provider: { upstream } });
  const sent = gateway.simulator.calls().findLast(({ path }) => path.includes("as-openrouter"));
  expect(sent?.body).toMatchObject({
    provider: { ...upstream, max_price: { prompt: "1", completion: "10" } },
  });
});
