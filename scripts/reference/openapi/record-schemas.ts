import {
  anything,
  count,
  flag,
  instant,
  list,
  object,
  oneOf,
  orNull,
  ref,
  said,
  text,
  usd,
  whole,
  type Schema,
} from "./kit.ts";

const microUsd = said(whole, "millionths of a dollar");
const perToken = said(text, "decimal dollars a token");
const pricing = object({
  prompt: perToken,
  completion: perToken,
  input_cache_read: perToken,
  input_cache_write: perToken,
  internal_reasoning: perToken,
  "input_cache_write_1h?": perToken,
});
const tier = object({ above_prompt_tokens: whole, pricing: ref("Pricing") });
const priceTiers = list(ref("PriceTier"));
const priceChanges = list(
  object({ from: instant, pricing: ref("Pricing"), price_tiers: priceTiers }),
);
const tokens = {
  prompt: count,
  cached_prompt: count,
  cache_write: count,
  completion: count,
  internal_reasoning: count,
  "cache_write_1h?": count,
};
const totals = { prompt_tokens: count, completion_tokens: count, total_tokens: count };

const provider = object({
  id: text,
  priority: said(whole, "the lower is tried first"),
  prompt_logging: oneOf("none", "retained"),
  datacenters: list(text),
  capacity: list(anything),
  context_length: orNull(whole),
  max_completion_tokens: orNull(whole),
  pricing: orNull(ref("Pricing")),
  price_tiers: priceTiers,
  price_changes: priceChanges,
  checked: anything,
  verification: object({
    state: text,
    checked_at: orNull(instant),
    failed_checks: list(object({ id: text, title: text })),
    suspect_since: orNull(instant),
  }),
});

const model = object({
  id: text,
  object: { const: "model" },
  created: whole,
  owned_by: text,
  name: text,
  description: text,
  context_length: orNull(whole),
  architecture: object({
    input_modalities: list(text),
    output_modalities: list(oneOf("text", "image", "video", "decisions")),
    modality: text,
  }),
  pricing: said(orNull(ref("Pricing")), "of the provider that is tried first"),
  "pricing_from?": said(
    object({ prompt: perToken, completion: perToken }),
    "the lowest of any provider, where it is below pricing",
  ),
  price_tiers: priceTiers,
  price_changes: priceChanges,
  checked: anything,
  top_provider: object({
    context_length: orNull(whole),
    max_completion_tokens: orNull(whole),
  }),
  supported_parameters: list(text),
  parameter_descriptors: said(object({}), "what each parameter takes"),
  price_card: list(anything),
  quantization: orNull(text),
  "decisions_wire?": oneOf("systemone", "gliner"),
  providers: said(list(ref("ModelProvider")), "in the order in which they are tried"),
  expiration_date: orNull(text),
  deprecation_date: orNull(text),
  released: orNull(text),
});

const attempt = object({
  n: whole,
  provider: text,
  upstream_id: text,
  started_at: instant,
  first_byte_ms: orNull(count),
  duration_ms: orNull(count),
  outcome: text,
  upstream_status: orNull(whole),
  error_type: orNull(text),
  served_model: orNull(text),
  substituted: orNull(flag),
  tokens: orNull(object(tokens)),
  settled_cost: usd,
  settled_cost_micro_usd: microUsd,
  reserved_micro_usd: microUsd,
  settlement: orNull(text),
  price_sheet: object({
    id: anything,
    above_prompt_tokens: orNull(whole),
    pricing: orNull(ref("Pricing")),
  }),
});

const usageRow = object({
  request_id: text,
  created: whole,
  key_id: text,
  model: text,
  provider: text,
  route: text,
  usage: orNull(object({ ...totals, ...tokens })),
  cost: usd,
  cost_micro_usd: microUsd,
  settlement: orNull(text),
});
const usageGroup = object({
  group: text,
  requests: count,
  usage: object({ ...totals, ...tokens }),
  cost: usd,
  cost_micro_usd: microUsd,
});

const values = { rpm: orNull(whole), tpm: orNull(whole), concurrency: orNull(whole) };
const rate = object({
  limit: orNull(whole),
  remaining: orNull(whole),
  bound_by: orNull(text),
});
const effective = object({
  rpm: rate,
  tpm: rate,
  concurrency: object({
    limit: orNull(whole),
    in_use: orNull(whole),
    departed: orNull(whole),
    bound_by: orNull(text),
  }),
});
const spend = object({
  cap_usd: orNull(usd),
  settled_usd: usd,
  in_flight_usd: usd,
  reset_at: instant,
});

/** What is read of models, usage and limits. */
export const RECORD_SCHEMAS: Readonly<Record<string, Schema>> = {
  Pricing: pricing,
  PriceTier: tier,
  ModelProvider: provider,
  Model: model,
  ModelList: object({ object: { const: "list" }, data: list(ref("Model")) }),
  MessagesModel: object({
    type: { const: "model" },
    id: text,
    display_name: text,
    created_at: instant,
    architecture: object({ input_modalities: list(text), output_modalities: list(text) }),
  }),
  MessagesModelList: object({
    data: list(ref("MessagesModel")),
    has_more: flag,
    first_id: orNull(text),
    last_id: orNull(text),
  }),
  Generation: object({
    data: object({
      id: text,
      request_id: text,
      model: text,
      route: text,
      stream: flag,
      created_at: instant,
      outcome: text,
      served_model: orNull(text),
      substituted: orNull(flag),
      total_cost: usd,
      cost_micro_usd: microUsd,
      reserved_micro_usd: microUsd,
      usage: object(tokens),
      dropped_params: said(
        list(text),
        "names of fields that were not sent to the provider; `unrecognized` is shown for names that no " +
          "interface documents, which are in the answer's header alone",
      ),
      response_headers: said(
        { type: "object", additionalProperties: text },
        "the headers of the answer that say how it was served or why it was refused, by name",
      ),
      attempts: said(list(attempt), "every request that was sent to a provider"),
    }),
  }),
  Usage: object({
    object: { const: "list" },
    balance: object({
      available_usd: usd,
      settled_usd: usd,
      held_usd: usd,
      available_micro_usd: whole,
      settled_micro_usd: whole,
      held_micro_usd: whole,
    }),
    month: object({
      spent_usd: usd,
      in_flight_usd: usd,
      cap_usd: orNull(usd),
      reset_at: instant,
    }),
    data: said(list({ anyOf: [usageRow, usageGroup] }), "rows, or sums with `group_by`"),
    has_more: flag,
    next_cursor: orNull(text),
  }),
  Limits: object({
    model: orNull(text),
    effective,
    scopes: list(
      object({
        scope: text,
        id: text,
        "key_id?": text,
        ...values,
        ceiling: object(values),
        source: object({ rpm: orNull(text), tpm: orNull(text), concurrency: orNull(text) }),
      }),
    ),
    output_bound: object({ min: whole, max: whole, default: whole }),
    spend: object({ org: spend, key: spend }),
  }),
  LimitChange: object(
    {
      scope: oneOf("org", "key", "model"),
      "key_id?": text,
      "model?": said(text, "with scope `model` only"),
      "rpm?": orNull({ ...whole, minimum: 1 }),
      "tpm?": orNull({ ...whole, minimum: 1 }),
      "concurrency?": orNull({ ...whole, minimum: 1 }),
    },
    { additionalProperties: false },
  ),
  ChangedLimit: object({
    scope: text,
    "key_id?": text,
    "model?": text,
    stored: object(values),
    effective,
  }),
  Route: object({
    candidates: said(
      list(
        object({
          rank: whole,
          provider: text,
          upstream_id: text,
          dialect: text,
          translated: flag,
          priority: whole,
          health: oneOf("healthy", "half_open"),
          pool: object({ id: text, has_room: flag }),
          own_key: flag,
          reasons: list(text),
        }),
      ),
      "in the order in which they would be tried",
    ),
    excluded: list(object({ provider: text, reason: text })),
    estimate: object({
      input_tokens: count,
      output_tokens: count,
      reserve_micro_usd: orNull(whole),
    }),
    would_admit: flag,
    refusal: orNull(object({ status: whole, code: text, message: text, retryable: flag })),
    dropped_params: list(text),
  }),
};
