/*
 * Controls, marks that turn the direction of what follows, and blanks and tags without a width. The
 * two joiners stay: several scripts, and most signs of people, are written with them.
 */
const HIDDEN =
  "\\p{Cc}\\u00ad\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\u{e0000}-\\u{e007f}";

/** A text without characters that are not seen, or that make it read as another. */
export const visibleText: RegExp = new RegExp(`^[^${HIDDEN}]*$`, "u");

export const hiddenCharacters: RegExp = new RegExp(`[${HIDDEN}]`, "gu");

const QUOTED_CHARS_MAX = 200;

/** A text from outside as a message quotes it: a file with one long name cannot fill a terminal. */
export function cutText(text: string): string {
  return text.length <= QUOTED_CHARS_MAX ? text : `${text.slice(0, QUOTED_CHARS_MAX)}…`;
}
