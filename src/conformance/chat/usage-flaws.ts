import { asObject } from "../../json/index.ts";
import type { Fields } from "../../wire/index.ts";

/**
 * What is wrong with a usage report as arithmetic, in the fields of either wire; undefined:
 * nothing.
 * Fields that a report does not have are not missed here.
 */
export function usageFlaw(usage: Fields): string | undefined {
  for (const name of COUNTS) {
    const value = usage[name];
    if (value === undefined || value === null) continue;
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) {
      return `usage.${name} is not a count`;
    }
  }
  const prompt = countIn(usage, "prompt_tokens");
  const completion = countIn(usage, "completion_tokens");
  const total = countIn(usage, "total_tokens");
  if (prompt !== undefined && completion !== undefined && total !== undefined) {
    if (total !== prompt + completion) return "usage.total_tokens is not prompt plus completion";
  }
  const whole = prompt === undefined && completion === undefined ? unmixedFlaw(usage) : undefined;
  if (whole !== undefined) return whole;
  const cached = countIn(asObject(usage["prompt_tokens_details"]), "cached_tokens");
  if (cached !== undefined && prompt !== undefined && cached > prompt) {
    return "more prompt tokens are cached than there are";
  }
  const reasoning = countIn(asObject(usage["completion_tokens_details"]), "reasoning_tokens");
  if (reasoning !== undefined && completion !== undefined && reasoning > completion) {
    return "more reasoning tokens than output tokens";
  }
  const thinking = countIn(asObject(usage["output_tokens_details"]), "thinking_tokens");
  const output = countIn(usage, "output_tokens");
  if (thinking !== undefined && output !== undefined && thinking > output) {
    return "more thinking tokens than output tokens";
  }
  return undefined;
}

/**
 * Of reports that count input and output: the parts of each are in it. Some hosts have these
 * names, empty, beside the others.
 */
function unmixedFlaw(usage: Fields): string | undefined {
  const input = countIn(usage, "input_tokens");
  const output = countIn(usage, "output_tokens");
  const total = countIn(usage, "total_tokens");
  if (input !== undefined && output !== undefined && total !== undefined) {
    if (total !== input + output) return "usage.total_tokens is not input plus output";
  }
  const cached = countIn(asObject(usage["input_tokens_details"]), "cached_tokens");
  if (cached !== undefined && input !== undefined && cached > input) {
    return "more input tokens are cached than there are";
  }
  return undefined;
}

const COUNTS = [
  "prompt_tokens",
  "completion_tokens",
  "total_tokens",
  "input_tokens",
  "output_tokens",
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
];

function countIn(fields: Fields | undefined, name: string): number | undefined {
  const value = fields?.[name];
  return typeof value === "number" ? value : undefined;
}
