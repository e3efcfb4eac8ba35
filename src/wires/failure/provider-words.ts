import { providerWordsCharsMax } from "../../core/constants.ts";

/** More than this is never sent on, and the patterns below stay quick. */
const READ_CHARS_MAX = 1_024;
const FALLBACK = "the prompt does not fit the context window of the model";

/**
 * The one sentence of a provider that a caller may read: no keys, addresses, ids or control
 * characters, at most `providerWordsCharsMax` characters.
 */
export function cleanProviderWords(message: string): string {
  const clean = message
    .slice(0, READ_CHARS_MAX)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]+/gu, " ")
    .replaceAll(/[\w.+-]+@[\w-]+\.[\w.]+/g, "[removed]")
    .replaceAll(/\b[a-z][a-z0-9+.-]*:\/\/\S+/gi, "[removed]")
    .replaceAll(
      /\b(www\.|[\w-]+(\.[\w-]+)*\.(com|ai|io|net|org|dev|cloud|app)\b)\S*/gi,
      "[removed]",
    )
    .replaceAll(/\bbearer\s+\S+/gi, "[removed]")
    .replaceAll(
      /\b(sk|pk|rk|gsk|xai|key|tok|org|acct|proj|req|request|user|msg|chatcmpl|tm)[-_][\w-]{6,}/gi,
      "[removed]",
    )
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, "[removed]")
    .replaceAll(/\b(?=\w*\d)(?=\w*[a-z])\w{20,}\b/gi, "[removed]")
    .replaceAll(/\s+/g, " ")
    .trim();
  return cut(firstSentence(clean)) || FALLBACK;
}

/** "The bound is N. However, you sent M." is one thought: both numbers help the caller. */
function firstSentence(text: string): string {
  const joined = text.replace(/\. However,/i, "; however,");
  return /^.*?[.!?](?=\s|$)/.exec(joined)?.[0] ?? joined;
}

function cut(text: string): string {
  if (text.length <= providerWordsCharsMax) return text;
  return `${text.slice(0, providerWordsCharsMax - 1).trimEnd()}…`;
}
