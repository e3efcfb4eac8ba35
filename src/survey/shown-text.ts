const SHOWN_CHARS_MAX = 80;

/**
 * A text of a provider as a terminal and a message may have it: printable characters of one line,
 * and few of them. What a terminal would obey becomes a question mark.
 */
export function shownText(text: string): string {
  const cut = text.slice(0, SHOWN_CHARS_MAX);
  const printable = cut.replaceAll(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, "?");
  return text.length > SHOWN_CHARS_MAX ? `${printable}…` : printable;
}
