import type { ListingFigures, Model, ModelProvider } from "../../api/contract.ts";

type ListingLabels = Partial<ModelProvider> & {
  readonly prompt?: string;
  readonly completion?: string;
};

export function buildListing({
  prompt = "1",
  completion = "2",
  ...rest
}: ListingLabels): ModelProvider {
  return {
    provider: "lab-a",
    name: "Lab A",
    priority: 0,
    prompt_logging: "none",
    datacenters: [],
    prices: {
      prompt,
      cached_prompt: prompt,
      cache_write: prompt,
      completion,
      internal_reasoning: completion,
    },
    defaulted: [],
    price_tiers: [],
    price_changes: [],
    checked: null,
    price_card: [],
    billing: "token",
    context_length: 100_000,
    max_output_tokens: 8_000,
    quantization: null,
    parameters: {},
    capacity: [],
    ...rest,
  };
}

export function buildModel(words: Partial<Model>): Model {
  return {
    id: "lab/one",
    name: "One",
    description: "Chat model: reads text.",
    modality: "text",
    route: "/v1/chat/completions",
    input_modalities: ["text"],
    context_length: 100_000,
    max_output_tokens: 8_000,
    decisions_wire: null,
    released: null,
    deprecation_date: null,
    parameters: {},
    providers: [buildListing({})],
    ...words,
  };
}

/** Makes figures of a listing with nine calls but no measurement. `some` replaces single fields. */
export function buildFigures(some: Partial<ListingFigures>): ListingFigures {
  return {
    provider: "lab-a",
    model: "lab/one",
    calls: 9,
    share_of_calls: 0.25,
    success: null,
    uptime: null,
    ttft_p50_ms: null,
    ttft_p95_ms: null,
    tokens_per_second: null,
    days: [],
    hours: [],
    ...some,
  };
}
