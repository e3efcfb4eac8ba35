import {
  defined,
  formatUsd,
  type MicroUsd,
  type Refusal,
  refusalGround,
  refusalTimes,
} from "../kernel/index.ts";
import type { RefusalReason } from "./refusal-reason-schema.ts";

const ID_CHARS_MAX = 200;
/** Matches all but printable ASCII, because PostgreSQL rejects some characters in JSON. */
const NOT_PLAIN = /[^\x20-\x7e]/g;

/** Returns the part of a refusal that is stored: at most about 3 KB, whatever was refused. */
export function refusalReason(refusal: Refusal, dropped: readonly string[] = []): RefusalReason {
  const { status, retryable, limit, figures, retryAfterSeconds, capPeriod } = refusal;
  const names = keepKnownNames(dropped);
  return defined({
    status,
    retryable,
    ...refusalGround(refusal),
    limit_id: limit?.id?.replace(NOT_PLAIN, "?").slice(0, ID_CHARS_MAX),
    retry_after: retryAfterSeconds,
    ...refusalTimes(refusal),
    cap_period: capPeriod,
    limit: figures?.limit,
    used: figures?.used,
    asked: figures?.asked,
    cap_usd: optionalUsd(figures?.cap),
    spent_usd: optionalUsd(figures?.spent),
    in_flight_usd: optionalUsd(figures?.inFlight),
    available_usd: optionalUsd(figures?.available),
    needed_usd: optionalUsd(figures?.needed),
    dropped_params: names.length > 0 ? names : undefined,
  });
}

/** Joins the names of dropped fields, at least one, into the text stored with an attempt. */
export function droppedText(dropped: readonly string[]): string {
  return keepKnownNames(dropped).join(",");
}

export function droppedNames(text: string | undefined): readonly string[] {
  return text === undefined ? [] : text.split(",");
}

function optionalUsd(amount: MicroUsd | undefined): string | undefined {
  return amount === undefined ? undefined : formatUsd(amount);
}

const NAMES_MAX = 32;
/** Stored instead of an unknown field name, which is text of the client and may be private. */
const UNKNOWN = "unrecognized";

/**
 * The parts of field names that may be stored. An unknown key of a body could be a word of a
 * prompt, so this list has only names that the two chat interfaces and other gateways document.
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
    "safety_identifier schema scope search_result seed server_tool_use service_tier session_id signature sort " +
    "source speed stop stop_sequences store stream stream_options strict structured_outputs " +
    "summary system temperature text thinking thinking_blocks thread title tool_addition tool_calls tool_choice " +
    "tool_removal tool_result tool_use tools top_a top_k top_logprobs top_p transforms ttl type usage user user_id " +
    "verbosity web_search_options"
  ).split(" "),
);
const POSITION = /^\d{1,5}$/;
/** Matches a value of the `anthropic-beta` header: a name with a date. */
const BETA = /^[a-z][a-z0-9-]{0,48}-\d{4}-\d{2}-\d{2}$/;

function keepKnownNames(dropped: readonly string[]): readonly string[] {
  return [...new Set(dropped.map(keepKnownName))].slice(0, NAMES_MAX);
}

function keepKnownName(name: string): string {
  return BETA.test(name) || name.split(/[.[\]]/).every(isKnownPart) ? name : UNKNOWN;
}

function isKnownPart(part: string): boolean {
  return part === "" || PARTS.has(part) || POSITION.test(part);
}
