import { cutText } from "../../kernel/index.ts";

/**
 * A text of a provider as a terminal and a message may have it: printable characters of one line,
 * and few of them. What a terminal would obey becomes a question mark.
 */
export function shownText(text: string): string {
  return cutText(text).replaceAll(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, "?");
}
