export interface CsvRecord {
  /** 1 for the first line of the file; of a record over several lines its first one. */
  readonly line: number;
  readonly fields: readonly string[];
  /** False: a quoted field has no end, or something follows its end. */
  readonly isWhole: boolean;
}

/** The records of a file of comma-separated values (RFC 4180), empty lines left out. */
export function* csvRecords(text: string): Generator<CsvRecord, undefined> {
  let line = 1;
  for (let at = 0; at < text.length;) {
    const { fields, isWhole, end } = readRecord(text, at);
    if (fields.length > 1 || fields[0] !== "") yield { line, fields, isWhole };
    line += text.slice(at, end).match(/\r\n|\n|\r/g)?.length ?? 0;
    at = end;
  }
  return undefined;
}

function readRecord(
  text: string,
  start: number,
): { readonly fields: readonly string[]; readonly isWhole: boolean; readonly end: number } {
  const fields: string[] = [];
  for (let at = start; ;) {
    const field = text[at] === '"' ? readQuotedField(text, at) : plainField(text, at);
    fields.push(field.value);
    const next = text[field.end];
    if (next === ",") {
      at = field.end + 1;
      continue;
    }
    const isWhole = field.isWhole && (next === undefined || next === "\r" || next === "\n");
    const lineBreak = text.startsWith("\r\n", field.end) ? 2 : 1;
    return { fields, isWhole, end: isWhole ? field.end + lineBreak : text.length };
  }
}

interface Field {
  readonly value: string;
  /** Index of the character behind it. */
  readonly end: number;
  readonly isWhole: boolean;
}

function plainField(text: string, start: number): Field {
  let end = start;
  while (end < text.length && !",\r\n".includes(text.charAt(end))) end += 1;
  return { value: text.slice(start, end), end, isWhole: true };
}

function readQuotedField(text: string, start: number): Field {
  let end = text.indexOf('"', start + 1);
  while (end >= 0 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
  const value = text.slice(start + 1, end < 0 ? text.length : end).replaceAll('""', '"');
  return { value, end: end < 0 ? text.length : end + 1, isWhole: end >= 0 };
}
