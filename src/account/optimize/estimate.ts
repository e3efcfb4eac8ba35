import { setImmediate as turn } from "node:timers/promises";

import type { Principal } from "../../gateway/index.ts";
import { microUsd, type MicroUsd, type Result, ZERO_MICRO_USD } from "../../kernel/index.ts";
import { longestQuestion } from "./search-tasks.ts";
import { buildBody } from "./model-caller.ts";
import type { SearchEstimate, WantedCalls } from "./postgres-optimize-store.ts";

/** The token limit of a judge's reply. The verdict is one letter, but reasoning may come first. */
export const JUDGE_TOKENS_MAX = 1_024;

/** Quotes the highest amount that the gateway would reserve for a call with this body. */
export type Quote = (principal: Principal, body: Buffer) => Result<{ readonly most: MicroUsd }>;

export interface EstimateParts {
  readonly quote: Quote;
  readonly callGapMs: number;
}

/**
 * Adds up the highest costs of a search's calls, at today's prices and whichever provider serves
 * each call. For the judge it assumes the longest answers that a judge reads.
 */
export async function estimateSearch(
  { quote, callGapMs }: EstimateParts,
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
      : {
          modelId: judgeModelId,
          ...judgeMost(quote, principal, { judgeModelId, modelIds, prompts }),
        };
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

interface Most {
  /** The most that all calls together can cost; calls that would be refused cost nothing. */
  readonly mostMicroUsd: MicroUsd;
  /** Why the model's calls would be refused; null if all would be accepted. */
  readonly message: string | null;
}

async function sumQuotes(
  prompts: readonly string[],
  quote: (prompt: string) => ReturnType<Quote>,
): Promise<Most> {
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
  quote: Quote,
  principal: Principal,
  asked: {
    readonly judgeModelId: string;
    readonly modelIds: readonly string[];
    readonly prompts: readonly string[];
  },
): Most {
  const sizes = asked.prompts.map((prompt) => Buffer.byteLength(JSON.stringify(prompt)));
  const longest = asked.prompts[sizes.indexOf(Math.max(...sizes))] ?? "";
  const prompt = longestQuestion(longest, asked.modelIds);
  const body = buildBody({ modelId: asked.judgeModelId, prompt, maxTokens: JUDGE_TOKENS_MAX });
  const quoted = quote(principal, body);
  if (!quoted.ok) return { mostMicroUsd: ZERO_MICRO_USD, message: quoted.refusal.message };
  return { mostMicroUsd: microUsd(quoted.most * BigInt(asked.prompts.length)), message: null };
}
