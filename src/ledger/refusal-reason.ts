import {
  formatUsd,
  type MicroUsd,
  type Refusal,
  refusalGround,
  refusalTimes,
} from "../kernel/index.ts";
import type { RefusalReason } from "./refusal-reason-schema.ts";

const ID_CHARS_MAX = 200;

/** The kept part of a refusal: at most about 3 KB, however long the names are that a client chose. */
export function refusalReason(refusal: Refusal, dropped: readonly string[] = []): RefusalReason {
  const { status, retryable, limit, figures, retryAfterSeconds, capPeriod } = refusal;
  const names = keepKnownNames(dropped);
  return {
    status,
    retryable,
    ...refusalGround(refusal),
    ...(limit?.id !== undefined && { limit_id: plain(limit.id, ID_CHARS_MAX) }),
    ...(retryAfterSeconds !== undefined && { retry_after: retryAfterSeconds }),
    ...refusalTimes(refusal),
    ...(capPeriod !== undefined && { cap_period: capPeriod }),
    ...(figures?.limit !== undefined && { limit: figures.limit }),
    ...(figures?.used !== undefined && { used: figures.used }),
    ...(figures?.asked !== undefined && { asked: figures.asked }),
    ...optionalUsd("cap_usd", figures?.cap),
    ...optionalUsd("spent_usd", figures?.spent),
    ...optionalUsd("in_flight_usd", figures?.inFlight),
    ...optionalUsd("available_usd", figures?.available),
    ...optionalUsd("needed_usd", figures?.needed),
    ...(names.length > 0 && { dropped_params: names }),
  };
}

/** The names of fields that were not sent to a provider, as they are kept with an attempt; undefined: none. */
export function droppedText(dropped: readonly string[]): string | undefined {
  if (dropped.length === 0) return undefined;
  return keepKnownNames(dropped).join(",");
}

/** The names that `droppedText` joined. */
export function droppedNames(text: string | undefined): readonly string[] {
  return text === undefined ? [] : text.split(",");
}

function optionalUsd<K extends string>(
  name: K,
  amount: MicroUsd | undefined,
): { readonly [P in K]?: string } {
  if (amount === undefined) return {};
  return { [name]: formatUsd(amount) } as { readonly [P in K]?: string };
}

/** Clients choose these names, and the database takes not every text as JSON. */
function plain(text: string, charsMax: number): string {
  return text.replace(/[^\x20-\x7e]/g, "?").slice(0, charsMax);
}

const NAMES_MAX = 32;
/** The name that is kept for an unknown one, which is the client's own text. */
const UNKNOWN = "unrecognized";

/**
 * The parts of field names that are kept with a request. Any key of a body may be a word of a
 * prompt, so only names that the two chat interfaces and other gateways document are stored.
 */
const PARTS: ReadonlySet<string> = new Set(
  (
    "anthropic_beta api_type audio betas budget_tokens cache_control citations clear_thinking container " +
    "content context_management defer_loading description detail disable_parallel_tool_use display edits effort " +
    "exclude format frequency_penalty function function_call functions grammar guided_json id image_url " +
    "include_reasoning include_usage index inference_geo input input_audio input_schema is_error " +
    "json_schema logit_bias logprobs max_completion_tokens max_output_tokens max_price max_tokens " +
    "mcp_servers messages metadata min_p mode modalities model models moderation n name " +
    "order output_config parallel_tool_calls parameters plugins prediction presence_penalty preset " +
    "prompt_cache_key prompt_cache_retention provider quantizations reasoning reasoning_content " +
    "reasoning_effort redacted_thinking refusal repetition_penalty response_format role route " +
    "safety_identifier schema search_result seed server_tool_use service_tier session_id signature sort " +
    "source speed stop stop_sequences store stream stream_options strict structured_outputs " +
    "summary system temperature text thinking thinking_blocks thread title tool_calls tool_choice tool_result " +
    "tool_use tools top_a top_k top_logprobs top_p transforms ttl type usage user user_id " +
    "verbosity web_search_options"
  ).split(" "),
);
const POSITION = /^\d{1,5}$/;
/** A value of the header of betas: a name with a date. */
const BETA = /^[a-z][a-z0-9-]{0,48}-\d{4}-\d{2}-\d{2}$/;

/** Names of dropped fields as they may be stored: few, and none that only the client knows. */
function keepKnownNames(dropped: readonly string[]): readonly string[] {
  return [...new Set(dropped.map(keepKnownName))].slice(0, NAMES_MAX);
}

function keepKnownName(name: string): string {
  return BETA.test(name) || name.split(/[.[\]]/).every(isKnownPart) ? name : UNKNOWN;
}

function isKnownPart(part: string): boolean {
  return part === "" || PARTS.has(part) || POSITION.test(part);
}
