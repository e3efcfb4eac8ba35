import { csvLine, plainCell } from "../../kernel/index.ts";
import type { Statement, UsageLine } from "./statements.ts";

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
    ...document.models.map((each) => ({ line: "usage", name: each.model, ...usageOf(each) })),
    { line: "unlisted_usage", usd: negated(document.unlisted_usage_usd) },
    { line: "closing", name, usd: document.closing_usd },
    ...document.keys.map((each) => {
      return { line: "usage_by_key", name: `${each.key_id} ${each.name}`, ...usageOf(each) };
    }),
  ];
  return [csvLine(HEAD), ...lines.map(textOf), ""].join("\r\n");
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

function usageOf(each: UsageLine): Pick<Line, "count" | "usd" | "input" | "output"> {
  const { requests: count, input_tokens: input, output_tokens: output } = each;
  return { count, usd: negated(each.cost_usd), input, output };
}

function textOf({ line, name = "", count, usd, input, output }: Line): string {
  const [counted, sent, answered] = [count, input, output].map((each) => String(each ?? ""));
  return csvLine([line, plainCell(name), counted ?? "", usd, sent ?? "", answered ?? ""]);
}

/** `"0.000000"` stays as it is. */
function negated(usd: string): string {
  if (/^0\.0+$/.test(usd)) return usd;
  return usd.startsWith("-") ? usd.slice(1) : `-${usd}`;
}
