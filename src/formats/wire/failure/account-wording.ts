import type { Wording } from "./wording.ts";

/** How providers say that the marketplace's own account cannot pay. */
export const billingWording: Wording = {
  codes: ["billing_error", "insufficient_balance", "insufficient_funds", "payment_required"],
  patterns: [
    /credit balance is too low/, // Anthropic
    /insufficient (account )?(balance|credits?|funds)/, // DeepSeek, OpenRouter
    /specified api usage limits/, // Anthropic, spend limit
    /billing (details|hard limit|account|is not active)/,
    /exceeded your current quota/,
    /spend(ing)? limit/,
    /requires more credits/, // OpenRouter
  ],
};

/** How providers say that the marketplace's own account or key is not accepted. */
export const accessWording: Wording = {
  codes: ["invalid_api_key", "api_key_invalid", "authentication_error", "account_deactivated"],
  patterns: [
    /api key not valid/, // Gemini-compatible
    /(incorrect|invalid) api key/,
  ],
  pairs: [
    {
      first: ["account", "organization", "workspace", "project"],
      second: ["disabled", "suspended", "deactivated", "banned"],
      charsMax: 72,
    },
  ],
};
