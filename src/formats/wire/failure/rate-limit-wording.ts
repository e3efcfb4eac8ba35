import type { Wording } from "./wording.ts";

/** How providers say that they are asked too often, under any status. */
export const rateLimitWording: Wording = {
  codes: [
    "rate_limit_exceeded", // OpenAI, Groq (also with 413)
    "rate_limit_error", // Anthropic
    "rate_limit",
    "too_many_requests",
    "resource_exhausted", // Gemini-compatible
    "capacity_exceeded", // Groq flex
  ],
  patterns: [
    /rate.?limit/,
    /too many requests/,
    /throttl(ed|ing)/,
    /(tokens|requests) per (minute|min|day|hour)/,
  ],
};

/** Codes of an account without quota: a 429 like any other, with a longer pause. */
export const QUOTA_CODES: readonly string[] = ["insufficient_quota", "quota_exceeded"];
