import { asText, csvLine, plainCell, asObject } from "../kernel/index.ts";

/** Writes records as CSV. A column that the first record does not have is left out. */
export function csvText(rows: readonly object[], columns: readonly string[] = []): string {
  const [first = {}] = rows.map((row) => flatten(row));
  const names = columns.filter((name) => name in first);
  const lines = rows.map((row) => {
    const cells = flatten(row);
    return csvLine(names.map((name) => plainCell(cell(cells[name]))));
  });
  return [csvLine(names), ...lines].join("\n");
}

/**
 * Writes a record as aligned lines of name and value, and a list as an aligned table. The lists in
 * a record follow its lines, each under its name.
 */
export function plainText(answer: unknown, columns?: readonly string[]): string {
  const entries = Object.entries(flatten(answer));
  const lists = entries.filter(isList) as [string, readonly object[]][];
  const fields = entries.filter((entry) => !isList(entry));
  const [first] = lists;
  if (fields.length === 0 && lists.length === 1 && first !== undefined) {
    return table(first[1], columns) || "there are none";
  }
  const blocks = lists.map(([name, rows]) => `\n${name}:\n${table(rows, columns) || "none"}`);
  return [aligned(fields.map(([name, value]) => [name, cell(value)])), ...blocks].join("\n");
}

/** Flattens inner records, so that `a: { b }` becomes `a.b`, except in the named columns. */
function flatten(
  answer: unknown,
  columns: readonly string[] = [],
): Readonly<Record<string, unknown>> {
  const entries = Object.entries(answer as object).flatMap(([name, value]: [string, unknown]) =>
    asObject(value) !== undefined && !columns.includes(name)
      ? Object.entries(flatten(value)).map(([inner, own]) => [`${name}.${inner}`, own] as const)
      : [[name, value] as const],
  );
  return Object.fromEntries(entries);
}

/** True for a list of records, and for an empty list that is not in an inner record. */
function isList([name, value]: readonly [string, unknown]): boolean {
  const isOfRecords = Array.isArray(value) && value.every((each) => asObject(each) !== undefined);
  return isOfRecords && (value.length > 0 || !/\./.test(name));
}

function table(rows: readonly object[], columns?: readonly string[]): string {
  const flat = rows.map((row) => flatten(row, columns));
  const [first] = flat;
  if (first === undefined) return "";
  const names = Object.keys(first).filter((name) => columns?.includes(name) ?? true);
  const lines = flat.map((row) => names.map((name) => cell(row[name])));
  return aligned([names, ...lines]);
}

function aligned(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, at) =>
    Math.max(...lines.map((line) => line[at]?.length ?? 0)),
  );
  return lines
    .map((line) =>
      line
        .map((text, at) => text.padEnd(widths[at] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return "-";
  if (Array.isArray(value)) return value.map(cell).join(", ") || "-";
  return asText(value) ?? JSON.stringify(value);
}
