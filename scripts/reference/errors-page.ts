import { REFUSALS } from "../../src/kernel/core/refusals.ts";
import { code, page, table } from "./markdown.ts";

/** docs/reference/errors.md, from the one table of refusals. */
export function errorsPage(): string {
  const rows = Object.entries(REFUSALS).map(([name, row]) => [
    code(name),
    String(row.status),
    code(row.wireBType),
    code(row.wireAType),
    row.retryable ? "yes" : "no",
    row.condition,
    row.advice,
  ]);
  const header = [
    "Class",
    "Usual status",
    "`error.type` on wire_b",
    "`error.type` on wire_a",
    "Retryable",
    "When",
    "What to do",
  ];
  return page(
    "Errors",
    "Source: `src/kernel/core/refusals.ts`. Every error names its class, on both wires. " +
      "A class may answer with another status than its usual one; the column *When* says when.",
    table(header, rows),
  );
}
