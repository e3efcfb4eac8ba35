/** One line of RFC 4180 without its end. Null is nothing, an empty text is `""`. */
export function csvLine(fields: readonly (string | null)[]): string {
  let line = "";
  for (let at = 0; at < fields.length; at++) {
    const field = fields[at] ?? null;
    if (at > 0) line += ",";
    if (field !== null) line += needsQuotes(field) ? quoted(field) : field;
  }
  return line;
}

/**
 * A text that a spreadsheet shows and never runs: where it would begin a formula, an apostrophe
 * precedes it. Only for files that people open; it changes the value.
 */
export function plainCell(text: string): string {
  return BEGINS_FORMULA.test(text) ? `'${text}` : text;
}

/* The wide forms count as the plain ones where East Asian input is the rule. */
const BEGINS_FORMULA = /^[\s\0]*[=+\-@＝＋－＠]|^[\t\r\n\0]/;
const NEEDS_QUOTES = /[",\r\n]|^\s|\s$/;

function needsQuotes(field: string): boolean {
  return field === "" || NEEDS_QUOTES.test(field);
}

function quoted(field: string): string {
  return `"${field.replaceAll('"', '""')}"`;
}
