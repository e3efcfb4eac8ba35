/** A table in Markdown, or undefined when it has no row. */
export function markdownTableOf(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
): string | undefined {
  if (rows.length === 0) return undefined;
  return [headings, headings.map(() => "---"), ...rows].map(line).join("\n");
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

/** Three digits or so, and no more. */
export function print(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(value < 10 ? 2 : 1);
}
