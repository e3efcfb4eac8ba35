import {
  outputTokensTotal,
  promptTokensTotal,
  type Usage,
  asObject,
  findElements,
  findMember,
  findPath,
  type Span,
  ZERO_USAGE,
} from "../../../kernel/index.ts";
import type { AnswerReading } from "../neutral/provider-answer.ts";
import { withNeeded } from "../neutral/relayed-text.ts";
import {
  asCount,
  costText,
  type Fields,
  firstCount,
  flawedCount,
  type UsageReport,
} from "../neutral/usage-report.ts";

/**
 * The usage of a wire_a body or chunk, with the deviations of vendors corrected; undefined if none
 * is reported. `text` is the JSON of `body`; the cost is read from it digit by digit.
 */
export function readUsage(
  body: Readonly<Record<string, unknown>>,
  text: string,
  { usageGap }: AnswerReading = {},
): UsageReport | undefined {
  const own = asObject(body["usage"]) ?? choiceUsage(body);
  // Groq reports usage under `x_groq` in the last chunk of a stream.
  const reported = own ?? asObject(asObject(body["x_groq"])?.["usage"]);
  if (reported === undefined) return undefined;
  const counted = splitBuckets(reported);
  if (counted === undefined) return undefined;
  const gap = usageGap === undefined ? 0 : computeGap(reported);
  const usage = gap > 0 ? withGap(counted, gap) : counted;
  const cost = own?.["cost"] === undefined ? undefined : rawCost(text);
  const flaw = gap > 0 ? usageFlaw({ ...reported, total_tokens: undefined }) : usageFlaw(reported);
  return {
    usage,
    ...(cost !== undefined && { reportedCostUsd: cost }),
    ...(flaw !== undefined && { flaw }),
  };
}

function computeGap(reported: Fields): number {
  const total = asCount(reported["total_tokens"]) ?? 0;
  const prompt = asCount(reported["prompt_tokens"]);
  const output = asCount(reported["completion_tokens"]) ?? 0;
  return prompt === undefined ? 0 : Math.max(0, total - prompt - output);
}

/**
 * Adds `gap` to the reasoning tokens, unless the provider has reported these tokens as reasoning.
 * `gap` is the number by which the reported total exceeds prompt plus completion.
 */
function withGap(usage: Usage, gap: number): Usage {
  const isCounted = usage.internalReasoning === gap;
  return isCounted ? usage : { ...usage, internalReasoning: usage.internalReasoning + gap };
}

const COUNTS = ["prompt_tokens", "completion_tokens", "total_tokens"];

/**
 * Returns why the counts cannot be right; undefined if they can. Counts may be missing, and vendors
 * may count reasoning in addition to the completion.
 */
export function usageFlaw(reported: Fields): string | undefined {
  const odd = flawedCount(reported, COUNTS);
  if (odd !== undefined) return odd;
  const { prompt_tokens: prompt, completion_tokens: output, total_tokens: total } = reported;
  const cached = asCount(asObject(reported["prompt_tokens_details"])?.["cached_tokens"]) ?? 0;
  if (typeof prompt === "number" && cached > prompt) {
    return "more prompt tokens are cached than there are";
  }
  if (typeof prompt !== "number" || typeof output !== "number") return undefined;
  const reasoning =
    asCount(asObject(reported["completion_tokens_details"])?.["reasoning_tokens"]) ?? 0;
  if (typeof total === "number" && total !== prompt + output) {
    const isBeside = total === prompt + output + reasoning;
    return isBeside ? undefined : "usage.total_tokens is not prompt plus completion";
  }
  return reasoning > output ? "more reasoning tokens than output tokens" : undefined;
}

/** Moonshot reports usage inside the choice of a stream's last chunk. */
export function choiceUsage(
  body: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> | undefined {
  const { choices } = body;
  return Array.isArray(choices) ? asObject(asObject(choices[0])?.["usage"]) : undefined;
}

/** Writes 0 for counts that were not reported. `costUsd` is number text, printed unchanged. */
export function usageJson(reported: Usage | undefined, costUsd: string): string {
  const usage = reported ?? ZERO_USAGE;
  const prompt = promptTokensTotal(usage);
  const completion = outputTokensTotal(usage);
  return (
    `{"prompt_tokens":${prompt},"completion_tokens":${completion},` +
    `"total_tokens":${prompt + completion},` +
    `"prompt_tokens_details":{"cached_tokens":${usage.cachedPrompt},` +
    `"cache_write_tokens":${usage.cacheWrite}},` +
    `"completion_tokens_details":{"reasoning_tokens":${usage.internalReasoning}},` +
    `"cost":${costUsd}}`
  );
}

/** Adds to the provider's usage object the counts that official clients read without a check. */
export function withCounts(
  text: string,
  find: (text: string) => Span | undefined,
  reported: Fields,
  usage: Usage = ZERO_USAGE,
): string {
  const prompt = promptTokensTotal(usage);
  const completion = outputTokensTotal(usage);
  return withNeeded(text, find, reported, {
    prompt_tokens: String(prompt),
    completion_tokens: String(completion),
    total_tokens: String(prompt + completion),
  });
}

function splitBuckets(reported: Fields): Usage | undefined {
  const promptDetails = asObject(reported["prompt_tokens_details"]);
  const completionDetails = asObject(reported["completion_tokens_details"]);
  const prompt = readPrompt(reported);
  const output = asCount(reported["completion_tokens"]);
  if (prompt === undefined && output === undefined) return undefined;

  const promptTotal = prompt ?? 0;
  const cached = Math.min(
    promptTotal,
    // DeepSeek and Moonshot report cached tokens at the top level of the usage.
    firstCount(
      promptDetails?.["cached_tokens"],
      reported["prompt_cache_hit_tokens"],
      reported["cached_tokens"],
    ) ?? 0,
  );
  const cacheWrite = Math.min(
    promptTotal - cached,
    firstCount(promptDetails?.["cache_write_tokens"], reported["cache_creation_input_tokens"]) ?? 0,
  );
  const reasoning = firstCount(
    completionDetails?.["reasoning_tokens"],
    reported["reasoning_tokens"],
  );
  return {
    prompt: promptTotal - cached - cacheWrite,
    cachedPrompt: cached,
    cacheWrite,
    ...splitOutput({ promptTotal, output: output ?? 0, reasoning: reasoning ?? 0 }, reported),
  };
}

/** The prompt's tokens: `prompt_tokens`, else DeepSeek's cache hits plus misses. */
function readPrompt(reported: Fields): number | undefined {
  const total = asCount(reported["prompt_tokens"]);
  if (total !== undefined) return total;
  const hits = asCount(reported["prompt_cache_hit_tokens"]);
  const misses = asCount(reported["prompt_cache_miss_tokens"]);
  return hits === undefined && misses === undefined ? undefined : (hits ?? 0) + (misses ?? 0);
}

interface OutputCounts {
  readonly promptTotal: number;
  readonly output: number;
  readonly reasoning: number;
}

/**
 * Splits the output into completion and reasoning. xAI counts reasoning in addition to the
 * completion; the total is then the sum of prompt, completion and reasoning.
 */
function splitOutput(
  counts: OutputCounts,
  reported: Fields,
): Pick<Usage, "completion" | "internalReasoning"> {
  const { promptTotal, output, reasoning } = counts;
  const isBeside =
    reasoning > 0 && asCount(reported["total_tokens"]) === promptTotal + output + reasoning;
  if (isBeside) return { completion: output, internalReasoning: reasoning };
  const inside = Math.min(output, reasoning);
  return { completion: output - inside, internalReasoning: inside };
}

function rawCost(text: string): string | undefined {
  const span = findPath(text, "usage", "cost") ?? choiceCost(text);
  return span === undefined ? undefined : costText(text.slice(span.start, span.end));
}

function choiceCost(text: string): Span | undefined {
  const choice = findChoice(text);
  const usage = choice && findMember(text, choice.start, "usage");
  return usage && findMember(text, usage.start, "cost");
}

export function findChoice(text: string): Span | undefined {
  const choices = findPath(text, "choices");
  return choices && findElements(text, choices.start, 1)[0];
}
