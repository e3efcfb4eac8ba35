import {
  ABSENT,
  type JsonDocument,
  type JsonNode,
  type JsonText,
  WordTable,
} from "../../../kernel/index.ts";

/** Keys and words that the code recognizes in bodies by a number, the word id (`WordTable`). */
// prettier-ignore
const NAMES = [
  "__proto__", "allow_fallbacks", "allowed_callers", "allowed_tools", "any", "arguments",
  "assistant", "audio", "audio_url", "auto", "base64", "billing_policy", "block_binding",
  "cache_control", "clear_at", "compaction", "connections", "constructor", "container",
  "container_upload", "content", "context_management", "custom", "data", "defer_loading",
  "description", "detail", "developer", "diagnostics", "disable_parallel_tool_use", "display",
  "document", "effort", "enable_search", "evict_on_complete", "fallback_credit_token", "fallbacks",
  "false", "file", "file_data", "format", "frequency_penalty", "function", "function_call",
  "functions", "id", "ignore", "image", "image_url", "include_usage", "inference_geo", "input",
  "input_audio", "input_examples", "input_file", "input_image", "input_schema", "input_video",
  "is_error", "json_schema", "logit_bias", "logprobs", "max_completion_tokens", "max_tokens",
  "mcp_servers", "messages", "metadata", "min_p", "modalities", "mode", "model", "models",
  "moderation", "n", "name", "none", "only", "order", "output_config", "output_format",
  "parallel_tool_calls", "parameters", "parsed", "parsed_arguments", "plugins", "prediction",
  "presence_penalty", "prompt_cache_breakpoint", "prompt_cache_key", "prompt_cache_options",
  "prompt_cache_retention", "properties", "prototype", "provider", "reasoning", "reasoning_content",
  "reasoning_details", "reasoning_effort", "redacted_thinking", "refusal", "repetition_penalty",
  "require_parameters", "required", "response_format", "role", "route", "safeguards",
  "safety_identifier", "schema", "scope", "search_options", "search_parameters", "search_result",
  "seed", "server_tool_use", "service_tier", "session_id", "signature", "source", "speed", "stop",
  "stop_sequences", "store", "stream", "stream_options", "strict", "system", "task_budget",
  "temperature", "text", "thinking", "thread", "tool", "tool_addition", "tool_call_id",
  "tool_calls", "tool_choice", "tool_reference", "tool_removal", "tool_result", "tool_use",
  "tool_use_id", "tools", "top_k", "top_logprobs", "top_p", "transforms", "ttl", "type", "updates",
  "upstream", "url", "user", "user_id", "verbosity", "video", "video_url", "web_search_options",
] as const;

/** Without `constructor`, a key that every plain object inherits. */
export type ChatWord = Exclude<(typeof NAMES)[number], "constructor">;

export const chatVocabulary: WordTable = new WordTable(NAMES);

export const word: Readonly<Record<ChatWord, number>> = Object.fromEntries(
  NAMES.map((name, index) => [name, index + 1]),
) as Record<ChatWord, number>;

/**
 * Puts each value of `table` into an array, at the id of its word. Only the table's own keys count,
 * because every object inherits the words `constructor` and `__proto__`.
 */
export function byWordId<T>(table: Readonly<Partial<Record<ChatWord, T>>>): (T | undefined)[] {
  const values = Array.from<T | undefined>({ length: chatVocabulary.size + 1 }).fill(undefined);
  for (const [name, value] of Object.entries(table)) values[word[name as ChatWord]] = value;
  return values;
}

/** The name of a key. The names of known words are looked up by id, not decoded. */
export function readName(doc: JsonDocument, key: JsonNode): string {
  return chatVocabulary.nameOf(doc.keyWord(key)) ?? doc.text(key);
}

export function findRaw(doc: JsonDocument, object: JsonNode, wordId: number): JsonText | undefined {
  const node = doc.present(object, wordId);
  return node === ABSENT ? undefined : doc.raw(node);
}
