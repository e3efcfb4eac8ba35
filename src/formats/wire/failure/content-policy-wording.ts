import type { Wording } from "./wording.ts";

/** How providers say that they refuse the content. */
export const contentPolicyWording: Wording = {
  codes: [
    "content_filter", // Azure
    "content_policy_violation", // OpenAI
    "responsibleaipolicyviolation", // Azure, inner error
    "content_policy",
    "moderation",
    "moderation_blocked", // images
    "content_moderation",
    "data_inspection_failed", // Qwen
    "datainspectionfailed",
    "safety", // Gemini-compatible
    "prohibited_content",
    "safety_violation", // images
    "sexual_content",
    "content_filtered", // Stability
    "content_moderated", // Black Forest Labs
    "request_moderated",
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
    /blocked by (our|the|its) (safety|content|moderation)/, // images
    /nsfw content/,
  ],
  pairs: [{ first: ["violat"], second: ["policy", "policies"], charsMax: 112 }],
};
