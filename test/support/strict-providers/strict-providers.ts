import { wordSet } from "../../../src/dev/simulator/json.ts";

/**
 * The refusals of one provider, and the ways in which its answers differ, as its pages and users
 * describe them. They are not derived from what the gateway sends, so that a test can fail.
 */
export interface StrictProvider {
  readonly wire: "wire_a" | "wire_b";
  /** The status of a refusal of an unknown field. Default 400. */
  readonly status?: number;
  /** The header that must contain the key; absent if no key is needed. */
  readonly auth?: "authorization" | "x-api-key" | "api-key";
  readonly needsUserAgent?: true;
  /** Top-level fields that the provider knows; absent if it ignores unknown ones. */
  readonly knows?: ReadonlySet<string>;
  readonly refuses?: ReadonlySet<string>;
  /** Members of a message that the provider refuses. */
  readonly refusesInMessages?: ReadonlySet<string>;
  readonly refusesNulls?: true;
  readonly refusesDeveloper?: true;
  readonly refusesMarks?: true;
  readonly refusesStrict?: true;
  readonly refusesPartsInResults?: true;
  /** Accepted values of `tool_choice`; `named`: one that names a tool. Default: all of its wire. */
  readonly choices?: ReadonlySet<string>;
  readonly temperatureMax?: number;
  /** The largest output bound of a request that is not streamed. */
  readonly wholeMax?: number;
  /** A stream reports usage unasked, or in its last choice. Default: in a chunk, if asked. */
  readonly usage?: "unasked" | "in-choice";
  /** The provider counts thinking tokens only in the total. */
  readonly hidesReasoning?: true;
  /** The provider signs tool calls, and refuses a history without these signatures. */
  readonly signs?: true;
  readonly silentCalls?: true;
  /** The provider requires `provider.max_price`, with prices as strings. */
  readonly wantsCeiling?: true;
}

/*
 * From the sources named below, read on 22 November 2026. The provider is assumed to ignore what
 * its sources do not mention.
 */

const SHARED = "model messages max_tokens stream temperature top_p stop tools tool_choice";
const BEARER = "authorization";

function onChat(about: Omit<StrictProvider, "wire" | "auth">): StrictProvider {
  return { wire: "wire_a", auth: BEARER, ...about };
}

/** Source: platform.openai.com/docs/api-reference/chat/create. Azure has its own key header. */
const openai = onChat({
  knows: wordSet(
    `${SHARED} audio frequency_penalty function_call functions logit_bias logprobs metadata`,
    "max_completion_tokens modalities n parallel_tool_calls prediction presence_penalty",
    "prompt_cache_key prompt_cache_retention reasoning_effort response_format safety_identifier",
    "seed service_tier store stream_options top_logprobs user verbosity web_search_options",
  ),
  refusesMarks: true,
});

/** Sources: docs.mistral.ai/api; BerriAI/litellm#8978, eca#315, charmbracelet/crush#1590. */
const mistral = onChat({
  status: 422,
  knows: wordSet(
    `${SHARED} random_seed response_format presence_penalty frequency_penalty n prediction`,
    "parallel_tool_calls prompt_mode safe_prompt metadata",
  ),
  refusesInMessages: wordSet(
    "name reasoning reasoning_content reasoning_details refusal annotations audio function_call",
  ),
  refusesDeveloper: true,
  refusesMarks: true,
  choices: wordSet("auto none any named"),
  temperatureMax: 1.5,
  usage: "unasked",
});

/** Sources: api-docs.deepseek.com; deepseek-ai/DeepSeek-V3#1376. */
const deepseek = onChat({
  refusesDeveloper: true,
  choices: wordSet("auto none"),
});

/** Source: ai.google.dev/gemini-api/docs/openai; theopenco/llmgateway#1267, labring/aiproxy#450. */
const google = onChat({
  knows: wordSet(
    `${SHARED} max_completion_tokens n reasoning_effort response_format stream_options extra_body`,
  ),
  refusesInMessages: wordSet("reasoning reasoning_content reasoning_details"),
  refusesMarks: true,
  refusesStrict: true,
  hidesReasoning: true,
  signs: true,
});

/** Source: docs.x.ai. Reasoning models have no stop and no penalties; messages have no names. */
const xai = onChat({
  knows: wordSet(
    `${SHARED} frequency_penalty presence_penalty seed user n logprobs top_logprobs`,
    "max_completion_tokens parallel_tool_calls reasoning_effort response_format stream_options",
  ),
  refusesInMessages: new Set(["name"]),
  silentCalls: true,
});

/** Source: console.groq.com/docs/openai. An unsupported field is refused with 400. */
const groq = onChat({
  knows: wordSet(
    `${SHARED} frequency_penalty presence_penalty seed user max_completion_tokens`,
    "parallel_tool_calls reasoning_effort reasoning_format include_reasoning response_format",
    "service_tier stream_options",
  ),
  refusesInMessages: wordSet("name reasoning_content reasoning_details"),
  refusesNulls: true,
  refusesMarks: true,
});

/** Source: inference-docs.cerebras.ai/resources/openai. */
const cerebras = onChat({
  needsUserAgent: true,
  knows: wordSet(
    `${SHARED} seed user logprobs top_logprobs max_completion_tokens reasoning_effort`,
    "response_format stream_options",
  ),
  refusesInMessages: wordSet("reasoning reasoning_content reasoning_details"),
  refusesMarks: true,
  temperatureMax: 1.5,
});

/** Source: docs.together.ai/reference/chat-completions. */
const together = onChat({
  refuses: wordSet("store reasoning_effort"),
  refusesDeveloper: true,
  refusesMarks: true,
  refusesStrict: true,
});

/** Sources: docs.fireworks.ai; nullclaw/nullclaw#231, musistudio/claude-code-router#377. */
const fireworks = onChat({
  knows: wordSet(
    `${SHARED} top_k min_p frequency_penalty presence_penalty repetition_penalty seed user n`,
    "logprobs top_logprobs reasoning_effort response_format stream_options",
  ),
  refusesMarks: true,
  refusesStrict: true,
  choices: wordSet("auto none any named"),
  wholeMax: 4096,
});

/** Source: deepinfra.com/docs/openai_api. */
const deepinfra = onChat({
  refusesPartsInResults: true,
  choices: wordSet("auto none"),
});

/** Sources: platform.moonshot.ai/docs/api/chat; earendil-works/pi#2017. */
const moonshot = onChat({
  choices: wordSet("auto none"),
  temperatureMax: 1,
  usage: "in-choice",
});

/** Source: docs.z.ai/api-reference/llm/chat-completion. */
const zai = onChat({
  refuses: wordSet("store reasoning_effort"),
  refusesDeveloper: true,
  choices: new Set(["auto"]),
  temperatureMax: 1,
});

/** Sources: alibabacloud.com/help/en/model-studio; langchain4j/langchain4j#3974. */
const qwen = onChat({
  refusesDeveloper: true,
  choices: wordSet("auto none named"),
  wholeMax: 0,
});

/** Source: docs.cohere.com/docs/compatibility-api. */
const cohere = onChat({
  status: 422,
  knows: wordSet(
    `${SHARED} seed frequency_penalty presence_penalty reasoning_effort response_format`,
  ),
  refusesInMessages: wordSet("name reasoning reasoning_content reasoning_details"),
  refusesMarks: true,
  temperatureMax: 1,
  usage: "unasked",
});

/** Source: docs.perplexity.ai/api-reference/chat-completions-post. It has no tools. */
const perplexity = onChat({
  knows: wordSet(
    "model messages max_tokens stream temperature top_p top_k frequency_penalty",
    "presence_penalty response_format reasoning_effort",
  ),
  refusesInMessages: wordSet("name reasoning reasoning_content reasoning_details"),
  refusesDeveloper: true,
  refusesMarks: true,
  usage: "unasked",
});

const chat = onChat({});
const local: StrictProvider = { wire: "wire_a" };
const messages: StrictProvider = { wire: "wire_b", auth: "x-api-key" };
const autoOrNone = wordSet("auto none");

export const STRICT_PROVIDERS: Readonly<Record<string, StrictProvider>> = {
  openai,
  anthropic: messages,
  google,
  mistral,
  deepseek,
  "deepseek-messages": { ...messages, choices: autoOrNone },
  xai,
  groq,
  cerebras,
  together,
  fireworks,
  deepinfra,
  moonshot,
  "moonshot-messages": { ...messages, choices: autoOrNone, temperatureMax: 1 },
  zai,
  qwen,
  "qwen-messages": { ...messages, choices: autoOrNone },
  minimax: messages,
  cohere,
  perplexity,
  openrouter: { ...chat, wantsCeiling: true },
  azure: { ...openai, auth: "api-key" },
  bedrock: chat,
  "bedrock-messages": { ...messages, auth: BEARER },
  vllm: local,
  "llama-cpp": local,
  lmstudio: local,
  ollama: local,
};
