import type { Schema } from "./kit.ts";

/** The fields that their schema does not describe, by name, or by `parent.name` where it differs. */
const FIELD_WORDS: Readonly<Record<string, string>> = {
  // Requests of calls
  "RoutingControls.upstream":
    "accepted and ignored, unless it is a field that would change the provider's address",
  allow_fallbacks: "false: only the first provider is tried; default true",
  "ChatRequest.messages": "the conversation so far, oldest message first",
  "MessagesRequest.messages": "the conversation so far, oldest message first",
  "CountRequest.messages": "the conversation whose tokens are to be counted",
  max_tokens: "the most tokens of the answer; what they could cost is held until the answer ends",
  "ChatRequest.stream": "true: the answer comes as server-sent events",
  "MessagesRequest.stream": "true: the answer comes as server-sent events",
  "ChatRequest.n": "the number of answers; only 1 is accepted",
  "ImageRequest.n": "the number of images; all of them are delivered, or none is charged",
  temperature: "randomness of the answer: 0 is the most predictable",
  top_p: "only the most likely tokens with this total probability are considered",
  stop: "texts at which the answer ends",
  stop_sequences: "texts at which the answer ends",
  tools: "the functions that the model may call, each with its JSON Schema",
  tool_choice: "whether the model may, must or must not call a tool, or which one",
  response_format: "the form of the answer: text, any JSON object, or JSON by a schema",
  "response_format.type": "`json_schema` needs a `json_schema` beside it",
  "ImageRequest.response_format": "images come as base64 in the body; no other form is accepted",
  thinking: "whether the model thinks before it answers, and with how many tokens",
  "ChatRequest.provider": "which providers may serve this request",
  "MessagesRequest.provider": "which providers may serve this request",
  "ImageRequest.provider": "which providers may serve this request",
  "VideoRequest.provider": "which providers may serve this request",
  "DecisionRequest.provider": "which providers may serve this request",
  "messages.role": "who wrote the message",
  "messages.name": "the name of the participant, where several have the same role",
  "messages.tool_calls": "the calls of tools that the assistant asked for",
  "messages.tool_call_id": "the id of the call that this message of a tool answers",
  "CountRequest.system": "the instructions that stand before the conversation",
  "ImageRequest.prompt": "what the image should show",
  "VideoRequest.prompt": "what the video should show; images are not accepted",
  size: "width and height in pixels, such as `1024x1024`, from the model's list",
  aspect_ratio: "width to height, such as `16:9`, from the model's list",
  quality: "the quality of the image, from the model's list; it can change the price",
  resolution: "the resolution, such as `720p`, from the model's list; it can change the price",
  generate_audio: "whether the video has sound",
  "VideoRequest.seconds": "the length in seconds; absent: the model's own",

  // Answers of calls
  "ChatCompletion.id": "the id of the answer",
  "Message.id": "the id of the answer",
  "Decision.id": "the request's id, as in `x-request-id`",
  "Video.id": "the id of the job, with which it is read and downloaded",
  object: "the type of this object",
  "ChatCompletion.model": "the id of the model that was asked for",
  "Message.model": "the id of the model that was asked for",
  "Video.model": "the id of the model that was asked for",
  "Decision.model": "the id of the model that was asked for",
  choices: "the answers; always one",
  "choices.index": "the position of the answer, from 0",
  "choices.message": "the answer itself: its text, and the calls of tools that it asks for",
  "message.role": "always `assistant`",
  finish_reason: "why the answer ended: `stop`, `length`, `tool_calls` or `content_filter`",
  "Message.type": "the type of this object",
  "Message.role": "always `assistant`",
  "Message.content": "the blocks of the answer: text, thinking and calls of tools",
  "content.type": "the kind of block: `text`, `thinking` or `tool_use`",
  stop_reason: "why the answer ended: `end_turn`, `max_tokens`, `tool_use` or another of its wire",
  "ChatCompletion.usage": "what was used and charged",
  "Message.usage": "what was used and charged",
  "Images.usage": "what was charged",
  "Video.usage": "what was charged; null until the job has ended",
  "Decision.usage": "what was used and charged",
  prompt_tokens: "all tokens of the prompt, those from the cache included",
  completion_tokens: "all tokens of the answer, hidden reasoning included",
  total_tokens: "prompt and answer together",
  input_tokens: "tokens of the prompt",
  output_tokens: "tokens of the answer",
  "estimate.input_tokens": "tokens of the prompt, estimated from the bytes of the request",
  "estimate.output_tokens": "the most tokens that the answer may have",
  "Images.data": "the images, in no particular order",
  b64_json: "the file of the image in base64",
  "Video.status": "the state of the job; the last two values never change",
  progress: "percent done, as far as the provider says; it never decreases",
  "Video.error": "why the job failed; null when it did not",
  "error.code": "the reason, as a word for programs",
  "error.message": "the problem, where it is, and the next step; never a secret",
  "refusal.message": "the problem, where it is, and the next step; never a secret",
  "usage.seconds": "the length of the delivered video",

  // The list of models
  "Model.id": "the model's id, as requests name it",
  "MessagesModel.id": "the model's id, as requests name it",
  "MessagesModel.type": "the type of this object",
  owned_by: "the id of the provider that is tried first",
  "Model.name": "the model's name for people",
  display_name: "the model's name for people",
  "Model.description": "one sentence about the model",
  created_at: "when it was made",
  "MessagesModel.created_at": "the day of release; a model without one counts from 2025-01-01",
  context_length: "the most tokens that prompt and answer may have together; null: not declared",
  max_completion_tokens: "the most tokens of an answer; null: not declared",
  architecture: "what the model reads and what it produces",
  input_modalities: "what it reads: `text`, `image`, `file`, `audio` or `video`",
  output_modalities: "what it produces",
  "architecture.modality": "both in one text, such as `text+image->text`",
  pricing: "prices per token; null: the provider reports the cost of each request",
  price_tiers: "prices of requests whose prompt is longer than a bound; empty: one price for all",
  above_prompt_tokens: "these prices apply to every token of a request with a longer prompt",
  price_changes: "announced prices, the next first; a request pays those of its admission",
  "price_changes.from": "the instant from which these prices apply",
  checked: "when the prices were last found to be true; null: not recorded",
  "checked.on": "the day of that check",
  "checked.by": "two public sources agreed, or a person read the provider's page",
  "checked.url": "the page that was read",
  "checked.age": "how long ago that is: recent, late, or too old to rely on",
  top_provider: "the bounds of the provider that is tried first",
  "Model.supported_parameters": "the optional parameters that at least one provider takes",
  price_card: "all billed units, for display; what a request costs is computed from `pricing`",
  "price_card.unit": "the unit that is billed",
  "price_card.cost_usd": "dollars for one unit, as a decimal text",
  billable: "which units are billed, where there are several kinds of them",
  variant: "the size, quality or other choice that this price is for",
  quantization: "the precision of the model's weights, such as `fp8`; null: not declared",
  decisions_wire: "the format of questions that a decision model reads",
  expiration_date: "the announced last day; null: none",
  deprecation_date: "the same day, under its other name",
  released: "the day of release; null: not declared",
  "ModelProvider.id": "the provider's id, as `provider.only` and its like name it",
  prompt_logging: "whether the provider keeps prompts",
  datacenters: "countries in which it runs, as ISO codes; empty: not declared",
  capacity: "the declared capacity; empty: not declared, which is not zero",
  "capacity.type": "what is counted",
  "capacity.per": "the window of time",
  "capacity.value": "how many of them in one window",
  verification: "what conformance runs and live answers say about this listing",
  "verification.state": "the verdict of the last run; `changed`: the listing changed after it",
  checked_at: "when the last run ended; null: there was none",
  failed_checks: "the checks that failed in it",
  "failed_checks.id": "the check's id, such as `C4`",
  "failed_checks.title": "the check's name",
  suspect_since: "since when live answers contradict the listing; null: they do not",
  "ModelList.data": "the models that fit, in the order of `sort`",
  "MessagesModelList.data": "the models of this page",
  has_more: "whether there are rows after these",
  first_id: "the id of the first model of this page; null: it is empty",
  last_id: "the id of the last one, to be sent as `after_id`",

  // Records
  "Generation.data": "the request with its attempts",
  "data.id": "the request's id, the same as `request_id`",
  request_id: "the request's id, to be found again and named to support",
  "data.model": "the id of the model that was asked for; null: none was named",
  model: "the model's id; null: the answer is not about one model",
  "data.route": "the path that was called",
  "data.stream": "whether the answer was streamed",
  outcome: "how it ended, such as `completed`, `in_flight` or `refused`",
  served_model: "the model's name in the provider's answer; null: it named none",
  substituted: "true: the listing does not allow that name; null: none was reported",
  usage: "the tokens, by kind; null: they are not known",
  prompt: "tokens of the prompt that came from no cache",
  cached_prompt: "tokens of the prompt that were read from the cache",
  cache_write: "tokens of the prompt that were written to the cache",
  cache_write_1h: "the part of `cache_write` that is kept for an hour",
  completion: "tokens of the answer without hidden reasoning",
  internal_reasoning: "tokens of hidden reasoning",
  n: "the number of the attempt, from 1",
  provider: "the provider's id",
  upstream_id: "the model's name at that provider",
  started_at: "when the attempt was sent",
  first_byte_ms: "milliseconds until the first byte of the answer; null: none came",
  duration_ms: "milliseconds until the attempt ended; null: it is still running",
  upstream_status: "the provider's HTTP status; null: there was no answer",
  error_type: "the class of the error; null: there was none",
  "refusal.error_type": "the class of the refusal",
  tokens: "what was used in this attempt; null: it is not known",
  settlement:
    "what the charge rests on: `reported` usage, a `partial` report, what the listing `declared`, " +
    "`none`, or `unknown_after_crash`",
  price_sheet: "the prices that were fixed when the request was admitted",
  "price_sheet.id": "the id of these prices, which never change",
  refusal: "the error with which the request would be answered; null: it would be admitted",
  "refusal.status": "the HTTP status",
  "refusal.code": "the class of the refusal",
  retryable: "whether the same request may pass later without a change",
  origin: "who refused: the admission, a provider or its quota, authorization, or the gateway",
  limit_scope: "the scope of the limit that was reached: `key`, `org`, `model`, `pool` and others",
  limit_kind: "the kind of that limit: `rpm`, `tpm`, `concurrency`, `spend`, `models` and others",
  limit_id: "that limit itself, such as `key:` with the key's id",
  cap_period: "the period of the cap that was reached; absent: a month",
  retry_after: "seconds to wait before the request is sent again",
  retry_at: "the instant from which it is worth sending again",
  reset_at: "when the period of the cap begins anew (UTC)",
  "refusal.limit": "how many requests or tokens the limit allows",
  used: "how many of them counted at that moment",
  asked: "how many this request would have added",
  "refusal.cap_usd": "the cap that was reached, in dollars",
  "refusal.spent_usd": "what was spent in its period, in dollars",
  "refusal.in_flight_usd": "what was held for running requests, in dollars",
  "refusal.available_usd": "the balance that was left, in dollars",
  needed_usd: "the most that this request could have cost, in dollars",
  dropped_params: "names of fields that are not sent to the provider",
  balance: "the organization's money, in dollars and in micro-dollars",
  month: "what was spent in this UTC month, and its cap",
  next_cursor: "send it as `cursor` for the next page; null: this is the last one",
  key_id: "the key's id",
  group: "the day, model, key or provider of these sums",
  requests: "the number of requests",

  // Limits
  "Limits.model": "the model that was asked about; null: none",
  effective: "what applies to requests: the narrowest of all scopes",
  rpm: "requests in the last 60 seconds; null: no limit",
  tpm: "tokens in the last 60 seconds; null: no limit",
  concurrency: "requests at the same time; null: no limit",
  limit: "the number that applies; null: no limit",
  bound_by: "the scope that would refuse first; null: there is no limit",
  remaining: "what is left of it now; null: no limit",
  in_use: "running requests now; null: not counted",
  departed: "requests whose client has left and whose provider still answers",
  scopes: "every limit that applies, one entry for each scope",
  scope: "what the limit is for",
  "scopes.id": "the limit's id, as refusals name it",
  rps: "requests per second of a dedicated endpoint; null: no limit",
  paced: "requests above this rate wait instead of being refused; null: nothing waits",
  per_second: "requests that are let through in one second",
  wait_ms_max: "the longest wait in milliseconds; above it a request is refused",
  ceiling: "the most that you may set; null: no limit",
  source: "where each number comes from: the default, a contract, yourself, or a lack of credit",
  output_bound: "what `max_tokens` may be",
  "output_bound.min": "the smallest value",
  "output_bound.max": "the largest value; a model may have a lower one",
  "output_bound.default": "the value where a request has none",
  spend: "money spent, and the caps on it",
  "spend.org": "the organization's month",
  "spend.key": "the month of this key",
  week: "the UTC week of this key, where it has a weekly cap",
  day: "the UTC day of this key, where it has a daily cap",
  "LimitChange.key_id": "the key that is meant, with scope `key`; absent: the key of the request",
  stored: "what you have set; null: nothing",

  // Dry run
  excluded: "the providers that would not be tried",
  reason: "why it would not be tried",
  estimate: "the size of the request, and what would be held for it",
  would_admit: "whether the request would be sent",
  rank: "the order of trying, from 1",
  dialect: "the wire on which the provider is called",
  translated: "whether the request is written anew for the other wire",
  priority: "the lower is tried first",
  health: "`half_open`: one request tries whether the provider has recovered",
  pool: "the shared capacity that the provider's account has",
  "pool.id": "the id of that capacity, as refusals name it",
  has_room: "whether there is room in it now",
  own_key: "whether it is called with your own key at the provider",
  reasons: "why it has this place, and what is lost on the way to it",

  // Errors
  "Error.error": "what is wrong",
  "MessagesError.type": "always `error`",
  "MessagesError.error": "what is wrong",
  "error.type": "the kind of error, as clients of this wire know it",
  "error.details": "what the provider said about the error, where it did",
  metadata: "who refused, and the limit that was reached",
  "metadata.error_type": "the class of the error, the same as `error.code`",
};

/** The same document, with a description for every field that has none of its own. */
export function describeFields(document: object): object {
  return walk(document, "") as object;
}

/** The names that no field takes its description from: a test expects none. */
export function findUnusedWords(): readonly string[] {
  return Object.keys(FIELD_WORDS).filter((name) => !used.has(name));
}
const used = new Set<string>();

function walk(value: unknown, parent: string): unknown {
  if (Array.isArray(value)) return value.map((each) => walk(each, parent));
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).map(([name, each]) => [
    name,
    name === "properties" ? walkFields(each as Fields, parent) : walk(each, nameOf(name, parent)),
  ]);
  return Object.fromEntries(entries) as object;
}

type Fields = Readonly<Record<string, Schema>>;

function walkFields(fields: Fields, parent: string): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, schema]) => {
      const inner = walk(schema, name) as Schema;
      const description = inner["description"] ?? wordsOf(parent, name);
      return [name, description === undefined ? inner : { ...inner, description }];
    }),
  );
}

function wordsOf(parent: string, name: string): string | undefined {
  const found = [`${parent}.${name}`, name].find((each) => each in FIELD_WORDS);
  if (found !== undefined) used.add(found);
  return found === undefined ? undefined : FIELD_WORDS[found];
}

/** Named schemas begin with a capital letter; the words of JSON Schema do not. */
function nameOf(name: string, parent: string): string {
  return /^[A-Z][a-z]/.test(name) ? name : parent;
}
