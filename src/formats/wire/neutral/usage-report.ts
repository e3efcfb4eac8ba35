import { type Usage, asObject } from "../../../kernel/index.ts";

/** What a provider reported about one answer so far. */
export interface UsageReport {
  readonly usage: Usage;
  /** Raw number text of the provider's own cost in USD. */
  readonly reportedCostUsd?: string;
  /** Why the counts cannot be right: they contradict each other, or one of them is not a count. */
  readonly flaw?: string;
}

/** A count as a safe integer of at least 0; undefined for everything else. */
export function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/** The first of these fields that is there and is not a count, as a flaw. */
export function flawedCount(reported: Fields, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = reported[name];
    if (value !== undefined && value !== null && countOf(value) === undefined) {
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
 * What is wrong with a report that counts input and output, in either naming, with the parts of
 * each in it; undefined: nothing. A host may count one of them only.
 */
export function inputOutputFlaw(reported: Fields): string | undefined {
  const odd = flawedCount(reported, INPUT_AND_OUTPUT);
  if (odd !== undefined) return odd;
  const input = firstCount(reported["input_tokens"], reported["prompt_tokens"]);
  const output = firstCount(reported["output_tokens"], reported["completion_tokens"]);
  const total = countOf(reported["total_tokens"]);
  if (input === undefined) return undefined;
  if (output !== undefined && total !== undefined && total !== input + output) {
    return "usage.total_tokens is not input plus output";
  }
  const details = asObject(reported["input_tokens_details"] ?? reported["prompt_tokens_details"]);
  const cached = countOf(details?.["cached_tokens"]) ?? 0;
  return cached > input ? "more input tokens are cached than there are" : undefined;
}

/** The first readable count. */
export function firstCount(...values: readonly unknown[]): number | undefined {
  for (const value of values) {
    const count = countOf(value);
    if (count !== undefined) return count;
  }
  return undefined;
}

/** Number text that may be a cost: not negative, digits kept as they are. */
export function costText(raw: string | undefined): string | undefined {
  const text = raw?.replaceAll('"', "");
  return text !== undefined && /^\d+(\.\d+)?([eE][+-]?\d{1,3})?$/.test(text) ? text : undefined;
}
