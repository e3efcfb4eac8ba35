import { describe, expect, test } from "vitest";
import { chatBody } from "../support/chat-bodies.ts";
import {
  simulatorManifest,
  STANDARD_MANIFESTS,
  withAccount,
  withGateway,
} from "../support/gateway.ts";
import {
  at,
  bearer,
  httpCall,
  listAt,
  type HttpAnswer,
  type HttpCall,
} from "../support/http-call.ts";
import { expectRefusal } from "../support/refusals.ts";

/** A listing with every field that a list entry can show. */
const RICH_MODEL = {
  id: "acme/rich-1",
  display_name: "Rich One",
  context_length: 128_000,
  max_output_tokens: 16_384,
  streaming: true,
  input_modalities: ["text", "image", "file"],
  supported_parameters: {
    temperature: { type: "range", min: 0, max: 2 },
    stop: { type: "unknown" },
  },
  pricing: [
    { type: "prompt", unit: "token", cost_usd_per_million: "2.5" },
    { type: "cached_prompt", unit: "token", cost_usd_per_million: "0.000001" },
    { type: "completion", unit: "token", cost_usd_per_million: "15" },
  ],
  capacity: [{ type: "request", per: "minute", value: 600 }],
  datacenters: ["DE", "FI"],
  released: "2026-03-01",
  deprecation_date: "2099-12-31",
  upstream_id: "rich-1-20260301",
};

/** Public price terms, and purchase prices with a conspicuous 0.777, which no list may show. */
const RICH_TERMS = {
  price_tiers: [{ above_prompt_tokens: 64_000, pricing: pricing("5", "30", "0.000002") }],
  price_changes: [
    {
      from: "2098-01-01T00:00:00Z",
      pricing: pricing("3", "15"),
      purchase_pricing: pricing("0.777", "0.777"),
    },
  ],
  purchase_pricing: pricing("0.777", "0.777"),
  purchase_tiers: [{ above_prompt_tokens: 64_000, pricing: pricing("0.777", "0.777") }],
  checked: { on: "2026-11-01", by: "page", url: "https://example.com/prices" },
};

function pricing(prompt: string, completion: string, cached?: string): readonly object[] {
  const prices = { prompt, completion, ...(cached === undefined ? {} : { cached_prompt: cached }) };
  return Object.entries(prices).map(([type, cost]) => ({
    type,
    unit: "token",
    cost_usd_per_million: cost,
  }));
}

const gateway = withGateway(() => {
  const models = [RICH_MODEL];
  const rich = simulatorManifest({ provider: "prov-rich", dialect: "wire_b", priority: 3, models });
  const terms = { listing_terms: { "acme/rich-1": RICH_TERMS } };
  return { manifests: [...STANDARD_MANIFESTS, { ...rich, ...terms }] };
});
const account = withAccount(gateway, "25.00");

async function askWithKey(path: string, call: HttpCall = {}): Promise<HttpAnswer> {
  const headers = { ...bearer(account.key), ...call.headers };
  return await httpCall(gateway.url + path, { ...call, headers });
}

const PRICING = {
  prompt: "0.0000025",
  completion: "0.000015",
  input_cache_read: "0.000000000001",
  input_cache_write: "0.0000025",
  internal_reasoning: "0.000015",
};
const TIERS = [
  {
    above_prompt_tokens: 64_000,
    pricing: {
      prompt: "0.000005",
      completion: "0.00003",
      input_cache_read: "0.000000000002",
      input_cache_write: "0.000005",
      internal_reasoning: "0.00003",
    },
  },
];
const CHANGES = [
  {
    from: "2098-01-01T00:00:00.000Z",
    pricing: {
      prompt: "0.000003",
      completion: "0.000015",
      input_cache_read: "0.000003",
      input_cache_write: "0.000003",
      internal_reasoning: "0.000015",
    },
    price_tiers: [],
  },
];

const CHECKED = {
  ...RICH_TERMS.checked,
  age: expect.stringMatching(/^(?:recent|late|old)$/) as string,
};

describe("GET /v1/models", () => {
  test("lists entries with every field in the wire_a shape", async () => {
    const { json, status } = await askWithKey("/v1/models");
    expect(status).toBe(200);
    expect(at(json, "object")).toBe("list");
    expect(at(json, "data.0")).toEqual({
      id: "acme/rich-1",
      object: "model",
      created: Date.UTC(2026, 2, 1) / 1000,
      owned_by: "prov-rich",
      name: "Rich One",
      description: "Chat model for text, images and files, with 128K tokens of context.",
      context_length: 128_000,
      architecture: {
        input_modalities: ["text", "image", "file"],
        output_modalities: ["text"],
        modality: "text+image+file->text",
      },
      pricing: PRICING,
      price_tiers: TIERS,
      price_changes: CHANGES,
      checked: CHECKED,
      top_provider: { context_length: 128_000, max_completion_tokens: 16_384 },
      supported_parameters: ["temperature", "stop"],
      parameter_descriptors: {
        temperature: { type: "range", min: 0, max: 2 },
        stop: { type: "unknown" },
      },
      price_card: [],
      quantization: null,
      providers: [
        {
          id: "prov-rich",
          priority: 3,
          prompt_logging: "none",
          datacenters: ["DE", "FI"],
          capacity: [{ type: "request", per: "minute", value: 600 }],
          context_length: 128_000,
          max_completion_tokens: 16_384,
          pricing: PRICING,
          price_tiers: TIERS,
          price_changes: CHANGES,
          checked: CHECKED,
          verification: {
            state: "unchecked",
            checked_at: null,
            failed_checks: [],
            warned_checks: [],
            overbilled_percent: null,
            suspect_since: null,
          },
        },
      ],
      expiration_date: "2099-12-31",
      deprecation_date: "2099-12-31",
      released: "2026-03-01",
    });
  });

  test("names all providers of a model, the first choice first", async () => {
    const { json } = await askWithKey("/v1/models/test%2Fba");
    expect(json).toMatchObject({
      owned_by: "prov-b",
      providers: [
        { id: "prov-b", priority: 0 },
        { id: "prov-a2", priority: 1 },
      ],
    });
  });

  test("lists in the wire_b shape when the version header is sent", async () => {
    const headers = { "anthropic-version": "2023-06-01" };
    const { json } = await askWithKey("/v1/models", { headers });
    expect(json).toMatchObject({ has_more: false, first_id: "acme/rich-1", last_id: "test/both" });
    expect(json).not.toHaveProperty("object");
    expect(at(json, "data.0")).toEqual({
      type: "model",
      id: "acme/rich-1",
      display_name: "Rich One",
      created_at: "2026-03-01T00:00:00Z",
      lifecycle: "deprecated",
      deprecated_at: null,
      retires_at: "2100-01-01T00:00:00Z",
      max_input_tokens: 128_000,
      max_tokens: 16_384,
      capabilities: null,
      line: null,
      architecture: {
        input_modalities: ["text", "image", "file"],
        output_modalities: ["text"],
        modality: "text+image+file->text",
      },
    });
  });

  test("filters and sorts in both shapes, and refuses a bad filter with a 400", async () => {
    const query = "sort=prompt_price&max_prompt_price=3";
    const inA = await askWithKey(`/v1/models?${query}`);
    const ids = ["test/a", "test/b", "test/ba", "test/both", "acme/rich-1"];
    expect(listAt(inA.json, "data").map((model) => at(model, "id"))).toEqual(ids);
    const headers = { "anthropic-version": "2023-06-01" };
    const inB = await askWithKey(`/v1/models?${query}&limit=2&after_id=test%2Fba`, { headers });
    expect(inB.json).toMatchObject({ has_more: false, first_id: ids[3], last_id: ids[4] });
    for (const [bad, message] of [
      ["limit=1001", "limit"],
      ["min_context=128k", "min_context"],
    ]) {
      const answer = await askWithKey(`/v1/models?${bad}`, { headers });
      expectRefusal(answer, { status: 400, code: "invalid_request", message: String(message) });
    }
  });

  test("returns one model in both shapes, with its slash encoded or not", async () => {
    for (const path of ["/v1/models/acme%2Frich-1", "/v1/models/acme/rich-1"]) {
      expect((await askWithKey(path)).json).toMatchObject({ id: "acme/rich-1", object: "model" });
      const headers = { "anthropic-version": "2023-06-01" };
      const inB = await askWithKey(path, { headers });
      expect(inB.json).toMatchObject({ id: "acme/rich-1", type: "model" });
    }
  });

  test("answers an unknown model with the 404 that a request would get", async () => {
    const answer = await askWithKey("/v1/models/no%2Fsuch%3Afree");
    expectRefusal(answer, { status: 404, code: "model_unavailable", message: '"no/such:free"' });
    const body = chatBody("no/such:free");
    const chatted = await askWithKey("/v1/chat/completions", { body });
    expect(at(answer.json, "error")).toEqual(at(chatted.json, "error"));
  });
});

test("no list of models or providers contains purchase prices", async () => {
  const lists = [
    await askWithKey("/v1/models"),
    await askWithKey("/v1/models/acme/rich-1"),
    await httpCall(`${gateway.running.consoleUrl}/api/catalog.json`),
    await httpCall(`${gateway.running.consoleUrl}/api/providers.json`),
  ];
  expect(lists[2]?.text).toContain('"above_prompt_tokens":64000');
  for (const { text } of lists) expect(text).not.toMatch(/777|purchase/);
});
