import {
  outputTokensTotal,
  promptTokensTotal,
  type Usage,
  asObject,
} from "../../../kernel/index.ts";
import { firstCount, inputOutputFlaw, type UsageReport } from "../../wire/neutral/usage-report.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The tokens that a decisions provider reported; undefined when it reported none. */
export function readDecisionReport(body: Fields): UsageReport | undefined {
  // GLiNER hosts report `token_usage`, which can be just the number of input tokens.
  const own = body["token_usage"];
  return (
    toUsageReport(asObject(body["usage"])) ?? toUsageReport(asObject(own) ?? { input_tokens: own })
  );
}

function toUsageReport(reported: Fields | undefined): UsageReport | undefined {
  if (reported === undefined) return undefined;
  const usage = readUsage(reported);
  if (usage === undefined) return undefined;
  const flaw = inputOutputFlaw(reported);
  return flaw === undefined ? { usage } : { usage, flaw };
}

/** The usage object of an answer; `costUsd` is number text and printed as it is. */
export function decisionUsageJson(usage: Usage, costUsd: string): string {
  const input = promptTokensTotal(usage);
  const output = outputTokensTotal(usage);
  const cached =
    usage.cachedPrompt === 0
      ? ""
      : `"input_tokens_details":{"cached_tokens":${usage.cachedPrompt}},`;
  return (
    `{"input_tokens":${input},"output_tokens":${output},"total_tokens":${input + output},` +
    `${cached}"cost":${costUsd}}`
  );
}

function readUsage(reported: Fields): Usage | undefined {
  const input = firstCount(reported["input_tokens"], reported["prompt_tokens"]);
  const output = firstCount(reported["output_tokens"], reported["completion_tokens"]);
  if (input === undefined && output === undefined) return undefined;
  const total = input ?? 0;
  const cached = Math.min(total, cachedTokens(reported));
  return {
    prompt: total - cached,
    cachedPrompt: cached,
    cacheWrite: 0,
    completion: output ?? 0,
    internalReasoning: 0,
  };
}

function cachedTokens(reported: Fields): number {
  const details =
    asObject(reported["input_tokens_details"]) ?? asObject(reported["prompt_tokens_details"]);
  return firstCount(details?.["cached_tokens"]) ?? 0;
}
