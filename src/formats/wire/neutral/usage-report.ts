import {
  asObject,
  defined,
  findMember,
  findPath,
  parseDecimal,
  plainDecimal,
  shiftDecimal,
  type Span,
  type Usage,
  ZERO_USAGE,
} from "../../../kernel/index.ts";

export interface UsageReport {
  /** Absent if the provider reported no token counts, but a cost. */
  readonly usage?: Usage;
  /** The provider's own cost in USD, as the text of a number. */
  readonly reportedCostUsd?: string;
  /** Why the counts cannot be right. */
  readonly flaw?: string;
}

/** A whole number of at least 0. A huge one stays a count, so that settlement finds it impossible. */
export function asCount(value: unknown): number | undefined {
  if (typeof value !== "number" || value < 0) return undefined;
  if (value > Number.MAX_SAFE_INTEGER) return Number.MAX_SAFE_INTEGER;
  return Number.isInteger(value) ? value : undefined;
}

export type Fields = Readonly<Record<string, unknown>>;

export function flawedCount(reported: Fields, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = reported[name];
    if (value !== undefined && value !== null && asCount(value) === undefined) {
      return `usage.${name} is not a count`;
    }
  }
  return undefined;
}

const INPUT_AND_OUTPUT = [
  "input_tokens",
  "output_tokens",
  "prompt_tokens",
  "completion_tokens",
  "total_tokens",
];

/**
 * Why the reported counts cannot be right; undefined if they can. The input or the output count may
 * be missing. The total is their sum, and cached tokens are part of the input.
 */
export function inputOutputFlaw(reported: Fields): string | undefined {
  const odd = flawedCount(reported, INPUT_AND_OUTPUT);
  if (odd !== undefined) return odd;
  const input = firstCount(reported["input_tokens"], reported["prompt_tokens"]);
  const output = firstCount(reported["output_tokens"], reported["completion_tokens"]);
  const total = asCount(reported["total_tokens"]);
  if (input === undefined) return undefined;
  if (output !== undefined && total !== undefined && total !== input + output) {
    return "usage.total_tokens is not input plus output";
  }
  const details = asObject(reported["input_tokens_details"] ?? reported["prompt_tokens_details"]);
  const cached = asCount(details?.["cached_tokens"]) ?? 0;
  return cached > input ? "more input tokens are cached than there are" : undefined;
}

/** Reads input and output, or prompt and completion; undefined if neither count is reported. */
export function readInputOutput(
  reported: Fields,
): (UsageReport & { readonly usage: Usage }) | undefined {
  const input = firstCount(reported["input_tokens"], reported["prompt_tokens"]);
  const output = firstCount(reported["output_tokens"], reported["completion_tokens"]);
  if (input === undefined && output === undefined) return undefined;
  const details =
    asObject(reported["input_tokens_details"]) ?? asObject(reported["prompt_tokens_details"]);
  const cachedPrompt = Math.min(input ?? 0, asCount(details?.["cached_tokens"]) ?? 0);
  const prompt = (input ?? 0) - cachedPrompt;
  const usage = { ...ZERO_USAGE, prompt, cachedPrompt, completion: output ?? 0 };
  return { usage, ...defined({ flaw: inputOutputFlaw(reported) }) };
}

export function firstCount(...values: readonly unknown[]): number | undefined {
  for (const value of values) {
    const count = asCount(value);
    if (count !== undefined) return count;
  }
  return undefined;
}

/**
 * `cost` in USD, else `cost_in_usd_ticks`, of the usage at `usage`, as plain decimal text
 * ("0.0832"), read digit by digit from valid JSON. An amount too large for any bill becomes
 * `hugeUsd`, which is above every reserve.
 */
export function readReportedCost(
  text: string,
  usage: Span | undefined = findPath(text, "usage"),
): string | undefined {
  if (usage === undefined || text[usage.start] !== "{") return undefined;
  return (
    plainUsd(sliceSpan(text, findMember(text, usage.start, "cost")), 0) ??
    plainUsd(sliceSpan(text, findMember(text, usage.start, "cost_in_usd_ticks")), TICK_DIGITS)
  );
}

/** The later cost of one answer counts, but 0 replaces no cost. Both are as `readReportedCost`. */
export function mergeCosts(
  earlier: string | undefined,
  later: string | undefined,
): string | undefined {
  return later === "0" ? (earlier ?? later) : (later ?? earlier);
}

/** Stands for every amount with more than 15 digits before the point. */
export const hugeUsd: string = "9".repeat(15);

/** `cost_in_usd_ticks` counts ticks; 10^10 ticks are one dollar. */
const TICK_DIGITS = 10;
const WHOLE_DIGITS_MAX = hugeUsd.length;
/** Maximum fraction digits of an amount. Further digits, far below a pico-dollar, are cut off. */
const FRACTION_DIGITS_MAX = 40;

function sliceSpan(text: string, span: Span | undefined): string {
  return span === undefined ? "" : text.slice(span.start, span.end);
}

/** Divides a number or numeric string of at least 0 by 10^`digits`; undefined for other text. */
function plainUsd(raw: string, digits: number): string | undefined {
  const number = /^"?(\d[^"]*)"?$/.exec(raw)?.[1];
  const written = number === undefined ? undefined : parseDecimal(number);
  if (written === undefined) return undefined;
  const usd = shiftDecimal(written, -digits);
  return usd.point > WHOLE_DIGITS_MAX ? hugeUsd : plainDecimal(usd, FRACTION_DIGITS_MAX);
}
