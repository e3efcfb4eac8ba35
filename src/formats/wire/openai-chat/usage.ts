import {
  defined,
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
  type Fields,
  firstCount,
  flawedCount,
  mergeCosts,
  readReportedCost,
  type UsageReport,
} from "../neutral/usage-report.ts";

/**
 * Corrects the deviations of vendors. Undefined if `body` reports neither token counts nor a cost.
 * `text` is the JSON of `body`, from which the cost is read digit by digit.
 */
export function readUsage(
  body: Fields,
  text: string,
  { usageGap }: AnswerReading = {},
): UsageReport | undefined {
  // Moonshot reports usage inside a stream's last choice.
  const own = asObject(body["usage"]) ?? asObject(firstChoice(body)?.["usage"]);
  // Groq reports usage under `x_groq` in the last chunk of a stream.
  const reported = own ?? asObject(asObject(body["x_groq"])?.["usage"]);
  if (reported === undefined) return undefined;
  const hasCost = (own?.["cost"] ?? own?.["cost_in_usd_ticks"]) !== undefined;
  const cost = hasCost
    ? (readReportedCost(text) ?? readReportedCost(text, findChoiceUsage(text)))
    : undefined;
  const counted = splitBuckets(reported);
  if (counted === undefined) return cost === undefined ? undefined : { reportedCostUsd: cost };
  const gap = usageGap === undefined ? 0 : computeGap(reported);
  // The gap is not added if the provider has already reported these tokens as reasoning.
  const isBeside = gap > 0 && counted.internalReasoning !== gap;
  const internalReasoning = counted.internalReasoning + (isBeside ? gap : 0);
  const flaw = gap > 0 ? usageFlaw({ ...reported, total_tokens: undefined }) : usageFlaw(reported);
  return {
    usage: isBeside ? { ...counted, internalReasoning } : counted,
    ...defined({ reportedCostUsd: cost, flaw }),
  };
}

/**
 * Chunks of a stream can report prompt, output and cost apart; of each, the last report counts, but
 * a 0 replaces nothing: some relays end with zeros for what was reported before.
 */
export function mergeReports(
  earlier: UsageReport | undefined,
  later: UsageReport | undefined,
): UsageReport | undefined {
  if (earlier === undefined || later === undefined) return later ?? earlier;
  const usage = mergeUsage(earlier.usage, later.usage);
  return defined({
    usage,
    reportedCostUsd: mergeCosts(earlier.reportedCostUsd, later.reportedCostUsd),
    flaw: usage === later.usage ? later.flaw : (later.flaw ?? earlier.flaw),
  });
}

function mergeUsage(earlier: Usage | undefined, later: Usage | undefined): Usage | undefined {
  if (earlier === undefined || later === undefined) return later ?? earlier;
  const choose = (total: (usage: Usage) => number): Usage =>
    total(later) === 0 && total(earlier) > 0 ? earlier : later;
  const prompt = choose(promptTokensTotal);
  const output = choose(outputTokensTotal);
  if (prompt === output) return prompt;
  const { completion, internalReasoning } = output;
  return { ...prompt, completion, internalReasoning };
}

/** The number by which the reported total exceeds prompt plus completion. */
function computeGap(reported: Fields): number {
  const total = asCount(reported["total_tokens"]) ?? 0;
  const prompt = asCount(reported["prompt_tokens"]);
  const output = asCount(reported["completion_tokens"]) ?? 0;
  return prompt === undefined ? 0 : Math.max(0, total - prompt - output);
}

const COUNTS = ["prompt_tokens", "completion_tokens", "total_tokens"];

/** Why the counts must be wrong. Counts may be missing, and completion may exclude reasoning. */
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

export function firstChoice({ choices }: Fields): Fields | undefined {
  return Array.isArray(choices) ? asObject(choices[0]) : undefined;
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

/** Adds missing counts, which official clients read without a check. */
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
  const completion = asCount(reported["completion_tokens"]);
  if (prompt === undefined && completion === undefined) return undefined;

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
    firstCount(
      promptDetails?.["cache_write_tokens"],
      promptDetails?.["cache_creation_input_tokens"],
      reported["cache_creation_input_tokens"],
    ) ?? 0,
  );
  const output = completion ?? 0;
  const reasoning =
    firstCount(completionDetails?.["reasoning_tokens"], reported["reasoning_tokens"]) ?? 0;
  // xAI counts reasoning in addition to the completion. The total is then the sum of all three.
  const isBeside =
    reasoning > 0 && asCount(reported["total_tokens"]) === promptTotal + output + reasoning;
  const internalReasoning = isBeside ? reasoning : Math.min(output, reasoning);
  return {
    prompt: promptTotal - cached - cacheWrite,
    cachedPrompt: cached,
    cacheWrite,
    completion: isBeside ? output : output - internalReasoning,
    internalReasoning,
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

function findChoiceUsage(text: string): Span | undefined {
  const choice = findChoice(text);
  return choice && findMember(text, choice.start, "usage");
}

export function findChoice(text: string): Span | undefined {
  const choices = findPath(text, "choices");
  return choices && findElements(text, choices.start, 1)[0];
}
