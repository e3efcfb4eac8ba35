import type { ProviderErrorText } from "./provider-message.ts";

export interface Wording {
  /** Error codes in lower case; one match is enough. A comment names providers that use a code. */
  readonly codes: readonly string[];
  /** Matched against lower-case text. `a.*b` is slow on a hostile body: use `pairs` instead. */
  readonly patterns: readonly RegExp[];
  readonly pairs?: readonly WordPair[];
}

/** Matches if a `first` is in the `charsMax` characters before a `second`, in one sentence. */
export interface WordPair {
  readonly first: readonly string[];
  readonly second: readonly string[];
  readonly charsMax: number;
}

export function matchesWording(errorText: ProviderErrorText, wording: Wording): boolean {
  const { all, codes } = errorText;
  return (
    codes.some((code) => wording.codes.includes(code)) ||
    wording.patterns.some((pattern) => pattern.test(all)) ||
    wording.pairs?.some((pair) => holdsPair(all, pair)) === true
  );
}

/** Looks back at most `charsMax` characters from each `second`, so the time is linear. */
function holdsPair(text: string, { first, second, charsMax }: WordPair): boolean {
  for (const part of second) {
    for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) {
      const window = text.slice(Math.max(0, at - charsMax), at);
      const inSentence = window.split(".").at(-1) ?? "";
      if (first.some((each) => inSentence.includes(each))) return true;
    }
  }
  return false;
}

export const billingWording: Wording = {
  codes: [
    "billing_error",
    "insufficient_balance",
    "insufficient_funds",
    "payment_required",
    "arrearage", // Qwen
  ],
  patterns: [
    /credit balance is too low/, // Anthropic
    /insufficient (account )?(balance|credits?|funds)/, // DeepSeek, OpenRouter
    /specified api usage limits/, // Anthropic, for its own spend limit
    /billing (details|hard limit|account|is not active)/,
    /exceeded your current quota/,
    /spend(ing)? limit/,
    /requires more credits/, // OpenRouter
    /your account is in good standing/, // Qwen
    /free tier is not available in your country/, // Google
  ],
};

export const accessWording: Wording = {
  codes: [
    "invalid_api_key",
    "api_key_invalid", // Google, as the reason in its details
    "authentication_error",
    "account_deactivated",
    "access_terminated", // OpenAI
    "organization_restricted", // Groq
    "model_terms_required", // Groq
  ],
  patterns: [
    /api key (not (valid|found)|expired)/, // Google
    /(incorrect|invalid) api key/,
    /your access was terminated/, // OpenAI
    /your organization must be verified/, // OpenAI
    /organization has been restricted/, // Groq
    /user location is not supported for the api/, // Google, for the gateway's own address
  ],
  pairs: [
    {
      first: ["account", "organization", "workspace", "project"],
      second: ["disabled", "suspended", "deactivated", "banned"],
      charsMax: 72,
    },
  ],
};

export const rateLimitWording: Wording = {
  codes: [
    "rate_limit_exceeded", // OpenAI, Groq (there also with status 413)
    "rate_limit_error", // Anthropic
    "rate_limit",
    "too_many_requests",
    "resource_exhausted", // Gemini-compatible
    "capacity_exceeded", // Groq, for its flex tier
  ],
  patterns: [
    /rate.?limit/,
    /too many requests/,
    /throttl(ed|ing)/,
    /(tokens|requests) per (minute|min|day|hour)/,
    /tier capacity exceeded/, // Groq, Mistral
  ],
};

/** Codes of an exhausted quota: the cooldown is longer, unless the provider names a wait. */
export const QUOTA_CODES: readonly string[] = ["insufficient_quota", "quota_exceeded"];

export const contentPolicyWording: Wording = {
  codes: [
    "content_filter", // Azure
    "content_policy_violation", // OpenAI
    "responsibleaipolicyviolation", // Azure, in its inner error
    "content_policy",
    "moderation",
    "moderation_blocked", // image providers
    "content_moderation",
    "data_inspection_failed", // Qwen
    "datainspectionfailed",
    "safety", // Gemini-compatible
    "prohibited_content",
    "safety_violation", // image providers
    "sexual_content",
    "content_filtered", // Stability
    "content_moderated", // Black Forest Labs
    "request_moderated",
    "1301", // Z.ai
  ],
  patterns: [
    /content management policy/, // Azure
    /content filter(ing)? policy/, // Anthropic
    /flagged as potentially violating/, // OpenAI
    /usage polic(y|ies)/,
    /requires moderation/, // OpenRouter
    /our safety (system|filter)/,
    /inappropriate content/, // Qwen
    /content exists risk/, // DeepSeek
    /content (is|was) blocked/,
    /blocked by (our|the|its) (safety|content|moderation)/, // image providers
    /nsfw content/,
    /violates? usage guidelines/, // xAI, with a 403
    /rejected by content moderation/, // xAI, images
    /limited access to this content for safety reasons/, // OpenAI
    // MiniMax. `withoutQuotes` removes its `new_sensitive`, which looks like the name of a field.
    /(in|out)put\s+(new_sensitive\s+)?\(102[67]\)$/m,
  ],
  pairs: [{ first: ["violat"], second: ["policy", "policies"], charsMax: 112 }],
};

export const contextOverflowWording: Wording = {
  codes: [
    "context_length_exceeded", // OpenAI, Groq
    "model_context_window_exceeded",
    "exceed_context_size_error", // llama.cpp
    "context_window_exceeded",
    "1261", // Z.ai
  ],
  patterns: [
    /maximum context length (is|of) [\d,]+/, // OpenAI, DeepSeek, vLLM, OpenRouter
    /exceeds the context window/, // OpenAI, newer wording
    /prompt is too long/, // Anthropic, Fireworks
    /input length and `?max_tokens`? exceed context limit/, // Anthropic
    /reduce the length of the (messages|prompt|input)/, // Groq
    /your request has [\d,]+ input tokens/, // vLLM
    /longer than the maximum model length/, // vLLM
    /too large for model with [\d,]+ maximum context length/, // Mistral
    /model maximum context length/, // Fireworks
    /`?inputs`? tokens \+ `?max_new_tokens`? must be/, // Together
    /maximum prompt length is [\d,]+/, // xAI
    /exceeded model token limit/, // Kimi
    /context window exceeds limit/, // MiniMax
    /exceeds the available context size/, // llama.cpp
    /greater than the context length/, // LM Studio
    /prompt token count of [\d,]+ exceeds the limit of [\d,]+/, // Copilot
    /input is too long for requested model/, // Bedrock
    /prompt exceeds max length/, // Z.ai
    /tokens in request more than max tokens allowed/, // Z.ai
    /range of input length should be/, // Qwen
    /input length \(?[\d,]+( tokens\))? exceeds the maximum allowed/, // SGLang, Poolside
    /longer than the model's context length/, // Together, SGLang
    // Cohere's "too many tokens: max tokens must be …" is about the output bound.
    /too many tokens: total number of tokens in the prompt/, // Cohere
    /too many tokens: .{0,64}size limit exceeded by/, // Cohere
  ],
  pairs: [
    // Wording of servers that are compatible with Gemini.
    {
      first: ["input token count"],
      second: ["exceeds the maximum number of tokens"],
      charsMax: 57,
    },
  ],
};

/** The provider does not serve the model, or no longer. */
export const modelGoneWording: Wording = {
  codes: [
    "model_not_found", // OpenAI, Groq
    "model_decommissioned", // Groq
    "invalid_model", // Mistral
    "1211", // Z.ai
  ],
  patterns: [
    /the model\s+has been decommissioned/, // Groq, without the quoted name of the model
    /\bmodel not exist/, // DeepSeek, Qwen
    /is not a valid model id/, // OpenRouter
  ],
};

/** A code for an overlong string, which is a context overflow only in `messages` or `input`. */
export const OVERLONG_STRING_CODE = "string_above_max_length";

const CODES_OF_STATUS: readonly (readonly [status: number, codes: readonly string[]])[] = [
  [400, ["invalid_request_error", "invalid_request", "badrequesterror"]],
  [400, ["context_length_exceeded", "content_filter", "content_policy_violation"]],
  [400, ["moderation_blocked"]],
  [401, ["authentication_error", "invalid_api_key"]],
  [402, ["billing_error"]],
  [403, ["permission_error"]],
  [404, ["not_found_error", ...modelGoneWording.codes]],
  [413, ["request_too_large"]],
  [429, ["rate_limit_error", "rate_limit_exceeded", "rate_limit", "too_many_requests"]],
  [429, ["insufficient_quota", "resource_exhausted"]],
  [500, ["api_error", "server_error", "internal_error", "internal_server_error"]],
  [503, ["service_unavailable", "unavailable", "insufficient_system_resource"]],
  [504, ["timeout_error", "timeout"]],
  [529, ["overloaded_error", "overloaded"]],
];

/** The HTTP status that a code in a 200 means. A Map: an object would also have `constructor`. */
const STATUS_OF_CODE: ReadonlyMap<string, number> = new Map(
  CODES_OF_STATUS.flatMap(([status, codes]) => codes.map((code) => [code, status] as const)),
);

/** Returns the HTTP status that an error inside a 200 stands for; undefined if no code is known. */
export function findStatus(errorText: ProviderErrorText): number | undefined {
  for (const code of errorText.codes) {
    const status = /^[45]\d\d$/.test(code) ? Number(code) : STATUS_OF_CODE.get(code);
    if (status !== undefined) return status;
  }
  return undefined;
}
