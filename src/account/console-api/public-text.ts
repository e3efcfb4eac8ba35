import { takeStart } from "../../kernel/index.ts";

const TEXT_CHARS_MAX = 300;

/**
 * Makes a text of a conformance report safe for customers: one bounded line without keys and
 * addresses. `hidden` lists the endpoint's addresses. A provider's report may contain anything.
 */
export function publicText(text: string, hidden: readonly string[]): string {
  let shown = text.slice(0, 4 * TEXT_CHARS_MAX);
  for (const each of hidden) shown = shown.replaceAll(each, REMOVED);
  for (const pattern of PATTERNS) shown = shown.replaceAll(pattern, REMOVED);
  shown = shown.replaceAll(/\p{C}+/gu, " ").trim();
  if (shown.length <= TEXT_CHARS_MAX) return shown;
  return `${takeStart(shown, TEXT_CHARS_MAX - 1)}…`;
}

const REMOVED = "[removed]";

const PATTERNS: readonly RegExp[] = [
  // Addresses: URLs, hosts with a port, IPv4, IPv6, and hosts that a DNS look-up did not find.
  /\b[a-z][a-z\d+.-]*:\/\/[^\s"'<>]+/gi,
  /\b(?:[a-z\d-]+\.)+[a-z]{2,}:\d{2,5}\b/gi,
  /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g,
  /(?<![\w:])(?:[\da-f]{1,4}:){4,7}[\da-f]{1,4}(?![\w:])/gi,
  /(?<![\w:])(?:[\da-f]{1,4}:)*:(?:[\da-f]{1,4}:)*[\da-f]{1,4}(?![\w:])/gi,
  /(?<=\b(?:ENOTFOUND|EAI_AGAIN)\s)\S+/g,
  // API keys and bearer tokens.
  /\b(?:sk|pk|rk|tm_vk|key)[-_][\w-]{8,}/gi,
  /\bbearer\s+\S+/gi,
];

/** The texts that would reveal the endpoint; the longest first, so that no part of it remains. */
export function hostTexts(baseUrl: string): readonly string[] {
  if (!URL.canParse(baseUrl)) return [baseUrl];
  const { host, hostname } = new URL(baseUrl);
  // A host name without a dot could be an ordinary word, so it is not hidden.
  return [baseUrl, ...new Set([host, hostname])].filter((text) => /[.:]/.test(text));
}
