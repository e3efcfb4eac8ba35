/*
 * Control characters, line separators, marks that change the direction of text, and several other
 * characters without a width. The zero-width joiner and non-joiner are not hidden, because several
 * scripts and many emoji need them.
 */
const HIDDEN =
  "\\p{Cc}\\u00ad\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\u{e0000}-\\u{e007f}";

export const visibleText: RegExp = new RegExp(`^[^${HIDDEN}]*$`, "u");

export const hiddenCharacters: RegExp = new RegExp(`[${HIDDEN}]`, "gu");

const QUOTED_CHARS_MAX = 200;

/** Returns at most `charsMax` UTF-16 units of a text, and never half of a surrogate pair. */
export function takeStart(text: string, charsMax: number): string {
  return text.slice(0, charsMax).replace(/[\uD800-\uDBFF]$/, "");
}

/** Cuts a text for a message, so that one long name in a file cannot fill a terminal. */
export function cutText(text: string): string {
  return text.length <= QUOTED_CHARS_MAX ? text : `${text.slice(0, QUOTED_CHARS_MAX)}…`;
}
