import { csvLine, type KeyId, type MicroUsd, type OrgId, plainCell } from "../../kernel/index.ts";

/** A UTC month, `YYYY-MM`. */
export type Month = string & { readonly __brand: "Month" };

/** Undefined unless the text is a calendar month from 2025 on. */
export function parseMonth(text: string): Month | undefined {
  const [, year, month] = /^(20\d\d)-(\d\d)$/.exec(text) ?? [];
  const isMonth = Number(month) >= 1 && Number(month) <= 12;
  return isMonth && Number(year) >= FIRST_YEAR ? (text as Month) : undefined;
}

const FIRST_YEAR = 2025;

export function toMonth(ms: number): Month {
  return new Date(ms).toISOString().slice(0, 7) as Month;
}

/** Its first instant, and that of the next month. */
export function spanOfMonth(month: Month): { readonly fromMs: number; readonly toMs: number } {
  const [year, number] = month.split("-").map(Number) as [number, number];
  return { fromMs: Date.UTC(year, number - 1), toMs: Date.UTC(year, number) };
}

export function monthAfter(month: Month): Month {
  return toMonth(spanOfMonth(month).toMs);
}

export type CreditKind =
  "purchase" | "grant" | "refund" | "refund_reversal" | "dispute" | "dispute_reversal" | "other";

/** One movement of credit. */
export interface CreditLine {
  readonly atMs: number;
  readonly kind: CreditKind;
  readonly ref: string;
  /** The number of the receipt of a purchase; null: it is none. */
  readonly receipt: string | null;
  readonly amountMicroUsd: MicroUsd;
}

/** The sum of all movements of one kind that belong to no request. */
export interface CreditSum {
  readonly kind: CreditKind;
  readonly count: number;
  /** Negative: out of the wallet. */
  readonly amountMicroUsd: MicroUsd;
}

export interface UsageFigures {
  readonly requests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costMicroUsd: MicroUsd;
}

/** The figures of an organization for one month; every sum is exact. */
export interface StatementFigures {
  readonly orgId: OrgId;
  readonly month: Month;
  readonly openingMicroUsd: MicroUsd;
  readonly closingMicroUsd: MicroUsd;
  readonly credits: readonly CreditSum[];
  /** Oldest first, 500 at most; `linesLeftOut` of the month are only in the sums. */
  readonly lines: readonly CreditLine[];
  readonly linesLeftOut: number;
  /** The cost of requests: opening + credits − usage = closing. */
  readonly usageMicroUsd: MicroUsd;
  /** The part that no line below shows, because its days have left the journal. */
  readonly unlistedMicroUsd: MicroUsd;
  /** Most cost first, 200 at most, of which the last is then `other`. */
  readonly models: readonly (UsageFigures & { readonly model: string })[];
  readonly keys: readonly (UsageFigures & {
    readonly keyId: KeyId | "other";
    /** As it was named when the statement was made. */
    readonly name: string;
  })[];
}

/** The content of a statement, as it is kept and as a file has it. Amounts are dollars. */
export interface StatementDocument {
  readonly version: 1;
  readonly org_id: string;
  readonly month: string;
  readonly opening_usd: string;
  readonly credits: readonly {
    readonly kind: string;
    readonly count: number;
    readonly amount_usd: string;
  }[];
  readonly usage_usd: string;
  readonly closing_usd: string;
  readonly lines: readonly {
    readonly at: string;
    readonly kind: string;
    readonly ref: string;
    readonly receipt: string | null;
    readonly amount_usd: string;
  }[];
  readonly lines_left_out: number;
  readonly unlisted_usage_usd: string;
  readonly models: readonly ({ readonly model: string } & UsageLine)[];
  readonly keys: readonly ({ readonly key_id: string; readonly name: string } & UsageLine)[];
}

export interface UsageLine {
  readonly requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost_usd: string;
}

/**
 * `so_far`: the month is not over; `closing`: requests of the month may not be in the ledger yet;
 * `due`: it is closed in the background or at its first read; `closed`: it is final.
 */
export type StatementState = "so_far" | "closing" | "due" | "closed";

export interface Statement {
  /** The stored document of a closed statement, else one made from the books as they are now. */
  readonly document: StatementDocument;
  readonly state: StatementState;
  /** `2026-10-000123`; null if it is not closed. */
  readonly number: string | null;
  readonly closedAtMs: number | null;
  /** The SHA-256 of the document as it is kept, in hexadecimal. */
  readonly sha256: string | null;
  /** The differences between the books of now and the statement; empty when they agree. */
  readonly differences: readonly string[];
  /**
   * Days have left the journal since it was closed: its usage cannot be compared with the requests
   * any more.
   */
  readonly hasLeft: boolean;
}

export interface StatementSummary {
  readonly month: Month;
  readonly state: StatementState;
  readonly number: string | null;
  readonly openingUsd: string | null;
  readonly closingUsd: string | null;
  readonly closedAtMs: number | null;
}

/**
 * A statement as one table: opening balance, what went in and out, usage by model, closing balance.
 * The amounts of `opening`, the credits, `usage` and `unlisted_usage` add up to `closing`; lines
 * of keys are the same usage once more.
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

/** `"0.000000"` gets no sign. */
function negated(usd: string): string {
  if (/^0\.0+$/.test(usd)) return usd;
  return usd.startsWith("-") ? usd.slice(1) : `-${usd}`;
}
