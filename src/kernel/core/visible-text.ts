/*
 * Control characters, marks that change the direction of text, and blanks and tags without a width.
 * The two joiners are not hidden: several scripts and most emoji of people need them.
 */
const HIDDEN =
  "\\p{Cc}\\u00ad\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\u{e0000}-\\u{e007f}";

/** Matches a text without characters that are invisible or make it read as another text. */
export const visibleText: RegExp = new RegExp(`^[^${HIDDEN}]*$`, "u");

export const hiddenCharacters: RegExp = new RegExp(`[${HIDDEN}]`, "gu");

const QUOTED_CHARS_MAX = 200;

/** Cuts a text for quoting in a message, so that one long name in a file cannot fill a terminal. */
export function cutText(text: string): string {
  return text.length <= QUOTED_CHARS_MAX ? text : `${text.slice(0, QUOTED_CHARS_MAX)}…`;
}
