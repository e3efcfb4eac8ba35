/** Columns of a batch as PostgreSQL array literals, built by hand: one text per column. */

const PLAIN = /^[\w./:@+-]+$/;

/**
 * A column of values that need no quotes: integers, booleans, NULLs, and texts of our own making
 * (ids, outcomes) that consist of letters, digits, `-`, `_` and `/`.
 */
export function plainColumn<T>(
  rows: readonly T[],
  read: (row: T) => bigint | number | boolean | string | null,
): string {
  let text = "{";
  for (let i = 0; i < rows.length; i++) {
    const value = read(rows[i] as T);
    if (i > 0) text += ",";
    text += value === null ? "NULL" : value;
  }
  return text + "}";
}

/** A column of texts; quoted where the array syntax needs it. */
export function textColumn<T>(rows: readonly T[], read: (row: T) => string | null): string {
  let text = "{";
  for (let i = 0; i < rows.length; i++) {
    const value = read(rows[i] as T);
    text += i === 0 ? "" : ",";
    text += value === null ? "NULL" : PLAIN.test(value) ? quoteWord(value) : quoted(value);
  }
  return text + "}";
}

function quoteWord(value: string): string {
  // The bare word null would be read as NULL.
  return value.length === 4 && value.toLowerCase() === "null" ? `"${value}"` : value;
}

/** A zero character cannot be stored in PostgreSQL: it is dropped. */
function quoted(value: string): string {
  return `"${value.replaceAll("\0", "").replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

/** Reads `{1,2,3}`; undefined text is an empty column. */
export function readPlainColumn(text: string | undefined | null): string[] {
  if (text === undefined || text === null || text === "{}") return [];
  return text.slice(1, -1).split(",");
}
