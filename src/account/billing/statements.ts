import { csvLine, plainCell } from "../../kernel/index.ts";
import type { StatementDocument, UsageLine } from "../console-api/contract/statements.ts";

/** A UTC month, `YYYY-MM`. */
export type Month = string & { readonly __brand: "Month" };

export function parseMonth(text: string): Month | undefined {
  const [, year, month] = /^(20\d\d)-(\d\d)$/.exec(text) ?? [];
  const isMonth = Number(month) >= 1 && Number(month) <= 12;
  return isMonth && Number(year) >= FIRST_YEAR ? (text as Month) : undefined;
}

const FIRST_YEAR = 2025;

export function toMonth(ms: number): Month {
  return new Date(ms).toISOString().slice(0, 7) as Month;
}

export function spanOfMonth(month: Month): { readonly fromMs: number; readonly toMs: number } {
  const [year, number] = month.split("-").map(Number) as [number, number];
  return { fromMs: Date.UTC(year, number - 1), toMs: Date.UTC(year, number) };
}

export function monthAfter(month: Month): Month {
  return toMonth(spanOfMonth(month).toMs);
}

/**
 * `closing`: requests of the month may still come; `due`: it is closed in the background or at its
 * first read.
 */
export type StatementState = "so_far" | "closing" | "due" | "closed";

export interface Statement {
  /** The stored document of a closed statement, else one made from the present ledger. */
  readonly document: StatementDocument;
  readonly state: StatementState;
  /** Such as `2026-10-000123`; null until the month is closed. */
  readonly number: string | null;
  readonly closedAtMs: number | null;
  /** SHA-256 of the stored document, in hexadecimal; null until the month is closed. */
  readonly sha256: string | null;
  readonly differences: readonly string[];
  /**
   * True if days up to the end of the month were deleted from the journal after the statement was
   * closed, so that its usage cannot be compared.
   */
  readonly hasLeft: boolean;
}

export interface StatementSummary extends Pick<Statement, "state" | "number" | "closedAtMs"> {
  readonly month: Month;
  readonly openingMicroUsd: bigint | null;
  readonly closingMicroUsd: bigint | null;
}

/**
 * The amounts of `opening`, the credits, `usage` and `unlisted_usage` add up to `closing`;
 * `usage_by_key` repeats the same usage.
 */
export function statementCsv({ document, number }: Statement): string {
  const name = number ?? "";
  const lines: readonly Line[] = [
    { line: "opening", name, usd: document.opening_usd },
    ...document.credits.map(({ kind, count, amount_usd: usd }) => ({ line: kind, count, usd })),
    ...document.models.map((each) => ({ line: "usage", name: each.model, ...toUsageCells(each) })),
    { line: "unlisted_usage", usd: negated(document.unlisted_usage_usd) },
    { line: "closing", name, usd: document.closing_usd },
    ...document.keys.map((each) => {
      return { line: "usage_by_key", name: `${each.key_id} ${each.name}`, ...toUsageCells(each) };
    }),
  ];
  return [csvLine(HEAD), ...lines.map(renderLine), ""].join("\r\n");
}

const HEAD = ["line", "name", "count", "amount_usd", "input_tokens", "output_tokens"];

interface Line {
  readonly line: string;
  readonly name?: string;
  readonly count?: number;
  readonly usd: string;
  readonly input?: number;
  readonly output?: number;
}

function toUsageCells(each: UsageLine): Pick<Line, "count" | "usd" | "input" | "output"> {
  const { requests: count, input_tokens: input, output_tokens: output } = each;
  return { count, usd: negated(each.cost_usd), input, output };
}

function renderLine({ line, name = "", count, usd, input, output }: Line): string {
  const [counted, sent, answered] = [count, input, output].map((each) => String(each ?? ""));
  return csvLine([line, plainCell(name), counted ?? "", usd, sent ?? "", answered ?? ""]);
}

export function negated(usd: string): string {
  if (/^0\.0+$/.test(usd)) return usd;
  return usd.startsWith("-") ? usd.slice(1) : `-${usd}`;
}
