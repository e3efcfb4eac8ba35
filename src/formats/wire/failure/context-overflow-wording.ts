import type { Wording } from "./wording.ts";

/** How providers say that the prompt is longer than the context window. */
export const contextOverflowWording: Wording = {
  codes: [
    "context_length_exceeded", // OpenAI, Groq
    "model_context_window_exceeded",
    "exceed_context_size_error", // llama.cpp
    "context_window_exceeded",
  ],
  patterns: [
    /maximum context length (is|of) [\d,]+/, // OpenAI, DeepSeek, vLLM, OpenRouter
    /exceeds the context window/, // OpenAI, newer
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
  ],
  pairs: [
    // Gemini-compatible
    {
      first: ["input token count"],
      second: ["exceeds the maximum number of tokens"],
      charsMax: 57,
    },
  ],
};

/** A string over its own bound is an overflow only where the field is the conversation. */
export const OVERLONG_STRING_CODE = "string_above_max_length";
