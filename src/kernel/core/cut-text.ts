const QUOTED_CHARS_MAX = 200;

/** A text from outside as a message quotes it: a file with one long name cannot fill a terminal. */
export function cutText(text: string): string {
  return text.length <= QUOTED_CHARS_MAX ? text : `${text.slice(0, QUOTED_CHARS_MAX)}…`;
}
