import { describe, expect, test } from "vitest";
import {
  simulatorManifest,
  STANDARD_MANIFESTS,
  tokenPrices,
  withAccount,
  withGateway,
} from "../support/gateway.ts";
import { at, bearer, httpCall, type HttpAnswer, type HttpCall } from "../support/http-call.ts";
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
  pricing: tokenPrices({ prompt: "2.5", cached_prompt: "0.000001", completion: "15" }),
  capacity: [{ type: "request", per: "minute", value: 600 }],
  datacenters: ["DE", "FI"],
  released: "2026-03-01",
  deprecation_date: "2099-12-31",
  upstream_id: "rich-1-20260301",
};

const PURCHASED = tokenPrices({ prompt: "0.777", completion: "0.777" });

/** Public price terms, and purchase prices with a conspicuous 0.777, which no list may show. */
const RICH_TERMS = {
  price_tiers: [
    {
      above_prompt_tokens: 64_000,
      pricing: tokenPrices({ prompt: "5", completion: "30", cached_prompt: "0.000002" }),
    },
  ],
  price_changes: [
    {
      from: "2098-01-01T00:00:00Z",
      pricing: tokenPrices({ prompt: "3", completion: "15" }),
      purchase_pricing: PURCHASED,
    },
  ],
  purchase_pricing: PURCHASED,
  purchase_tiers: [{ above_prompt_tokens: 64_000, pricing: PURCHASED }],
  checked: { on: "2026-11-01", by: "page", url: "https://example.com/prices" },
};

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

/** Prices of a token as lists show them. */
function shown(prompt: string, completion: string, input_cache_read = prompt): object {
  const rest = { input_cache_read, input_cache_write: prompt, internal_reasoning: completion };
  return { prompt, completion, ...rest };
}

const PRICING = shown("0.0000025", "0.000015", "0.000000000001");
const TIERS = [
  { above_prompt_tokens: 64_000, pricing: shown("0.000005", "0.00003", "0.000000000002") },
];
const CHANGES = [
  {
    from: "2098-01-01T00:00:00.000Z",
    pricing: shown("0.000003", "0.000015"),
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

  test("filters, sorts and pages in the wire_b shape, too", async () => {
    const query = "sort=prompt_price&max_prompt_price=3&limit=2&after_id=test%2Fba";
    const headers = { "anthropic-version": "2023-06-01" };
    const { json } = await askWithKey(`/v1/models?${query}`, { headers });
    expect(json).toMatchObject({
      has_more: false,
      first_id: "test/both",
      last_id: "acme/rich-1",
    });
    const refused = await askWithKey("/v1/models?limit=1001", { headers });
    expectRefusal(refused, { status: 400, code: "invalid_request", message: "limit" });
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
