import { setImmediate as turn } from "node:timers/promises";

import type { Principal } from "../../gateway/index.ts";
import { microUsd, type MicroUsd, type Result, ZERO_MICRO_USD } from "../../kernel/index.ts";
import { longestQuestion } from "./search-tasks.ts";
import { buildBody } from "./model-caller.ts";
import type { EstimatedModel, SearchEstimate, WantedCalls } from "./postgres-optimize-store.ts";

/** The token limit of a judge's reply. The verdict is one letter, but reasoning may come first. */
export const JUDGE_TOKENS_MAX = 1_024;

/** Quotes the highest amount that the gateway would reserve for a call with this body. */
export type Quote = (principal: Principal, body: Buffer) => Result<{ readonly most: MicroUsd }>;

/** Assumes today's prices, the most expensive provider, and the longest answers for a judge. */
export async function estimateSearch(
  { quote, callGapMs }: { readonly quote: Quote; readonly callGapMs: number },
  principal: Principal,
  { modelIds, judgeModelId, prompts, maxTokens }: WantedCalls & { readonly maxTokens: number },
): Promise<SearchEstimate> {
  const models = [];
  for (const modelId of modelIds) {
    const each = (prompt: string) => quote(principal, buildBody({ modelId, prompt, maxTokens }));
    models.push({ modelId, ...(await sumQuotes(prompts, each)) });
  }
  const judge =
    judgeModelId === null
      ? null
      : judgeMost((body) => quote(principal, body), { judgeModelId, modelIds, prompts });
  const calls = prompts.length * (modelIds.length + (judge === null ? 0 : 1));
  const parts = judge === null ? models : [...models, judge];
  return {
    calls,
    models,
    judge,
    mostMicroUsd: microUsd(parts.reduce((sum, { mostMicroUsd }) => sum + mostMicroUsd, 0n)),
    leastMs: Math.max(0, calls - 1) * callGapMs,
  };
}

/** Adds up what the model's calls can cost; calls that would be refused cost nothing. */
async function sumQuotes(
  prompts: readonly string[],
  quote: (prompt: string) => ReturnType<Quote>,
): Promise<Omit<EstimatedModel, "modelId">> {
  let mostMicroUsd = ZERO_MICRO_USD;
  let message: string | null = null;
  for (const prompt of prompts) {
    const quoted = quote(prompt);
    if (quoted.ok) mostMicroUsd = microUsd(mostMicroUsd + quoted.most);
    else message ??= quoted.refusal.message;
  }
  // Quoting long prompts takes a while, so other requests get a turn after each model.
  await turn();
  return { mostMicroUsd, message };
}

/** Prices each of the judge's calls as if its question were the longest one possible. */
function judgeMost(
  quote: (body: Buffer) => ReturnType<Quote>,
  asked: Pick<WantedCalls, "modelIds" | "prompts"> & { readonly judgeModelId: string },
): EstimatedModel {
  const { judgeModelId: modelId, modelIds, prompts } = asked;
  const sizes = prompts.map((prompt) => Buffer.byteLength(JSON.stringify(prompt)));
  const longest = prompts[sizes.indexOf(Math.max(...sizes))] ?? "";
  const prompt = longestQuestion(longest, modelIds);
  const quoted = quote(buildBody({ modelId, prompt, maxTokens: JUDGE_TOKENS_MAX }));
  if (!quoted.ok) return { modelId, mostMicroUsd: ZERO_MICRO_USD, message: quoted.refusal.message };
  const mostMicroUsd = microUsd(quoted.most * BigInt(prompts.length));
  return { modelId, mostMicroUsd, message: null };
}
