import { type Deployment, exactCost } from "../../catalog/index.ts";
import type { AnswerBridge } from "../../formats/index.ts";
import {
  HOUR_SKU,
  isWithinExcess,
  type MicroUsd,
  OUTPUT_TOKENS_MAX,
  outputTokensTotal,
  parseUsdToPico,
  type PicoUsd,
  promptTokensTotal,
  REPORTED_TOKENS_MAX,
  type Usage,
  withoutHourWrites,
  ZERO_MICRO_USD,
  ZERO_PICO_USD,
} from "../../kernel/index.ts";
import type { AttemptOutcome, ReportFlag, SettlementBasis } from "../../ledger/index.ts";
import type { AttemptResult } from "../../upstream/index.ts";
import { type TokenCount, tokenCount, NO_TOKENS } from "../limits/limit-store.ts";

export interface Settlement {
  readonly usage: Usage | null;
  readonly basis: SettlementBasis;
  readonly costPicoUsd: PicoUsd;
  /** The amount owed to the provider; absent means `costPicoUsd`. */
  readonly owedPicoUsd?: PicoUsd;
  /** Set if the provider reported impossible usage or cost, which was ignored. */
  readonly flag?: ReportFlag;
}

const NOTHING: Settlement = { usage: null, basis: "none", costPicoUsd: ZERO_PICO_USD };

const IMPOSSIBLE: Settlement = { ...NOTHING, flag: "usage_impossible" };

/**
 * Computes the cost from what the provider reported; if a stream broke, from what was reported
 * before the break. A refusal for content, and an answer without output that the gateway cannot
 * present to the client, cost nothing, whatever they report. A complete image answer without usage
 * costs what its listing declares. Any other answer without usage costs nothing, unless its listing
 * bills the cost that the provider reports. Impossible usage or cost is ignored, so that a wrong
 * report can neither distort the accounts nor prevent the attempt from closing. One-hour cache
 * writes that the request did not ask for are charged as ordinary cache writes.
 */
export function computeSettlement(
  result: AttemptResult,
  deployment: Deployment,
  {
    reserveMicroUsd = ZERO_MICRO_USD,
    asksHourWrites = false,
  }: {
    readonly reserveMicroUsd?: MicroUsd;
    readonly asksHourWrites?: boolean | undefined;
  } = {},
): Settlement {
  const { bridge, failure } = result;
  if (bridge === undefined) return NOTHING;
  const { usage: reported } = bridge;
  const isAsked = asksHourWrites || reported?.[HOUR_SKU] === undefined;
  const usage = isAsked ? reported : withoutHourWrites(reported);
  if (usage !== undefined && !isPossible(usage, deployment)) return IMPOSSIBLE;
  const cls = failure?.refusal.class;
  const unbillable = cls === "content_policy" || (cls === "gateway_error" && !result.hasOutput);
  if (unbillable) return NOTHING;
  const isDeclared = usage === undefined && failure === undefined;
  const counted = isDeclared ? bridge.declaredUsage : usage;
  const basis = failure === undefined ? "reported" : "partial";
  if (deployment.billing === "reported_cost") {
    const { reportedCostUsd } = bridge;
    if (reportedCostUsd === undefined) return { ...NOTHING, usage: usage ?? null };
    const costPicoUsd = parseUsdToPico(reportedCostUsd);
    return costPicoUsd !== undefined && isWithinExcess(costPicoUsd, reserveMicroUsd)
      ? { usage: usage ?? null, basis, costPicoUsd }
      : IMPOSSIBLE;
  }
  if (counted === undefined || deployment.prices === null) return NOTHING;
  const { purchase } = deployment.prices;
  const priced = {
    costPicoUsd: exactCost(deployment.prices, counted),
    ...(purchase !== undefined && { owedPicoUsd: exactCost(purchase, counted) }),
  };
  const isPayable = Object.values(priced).every((amount) =>
    isWithinExcess(amount, reserveMicroUsd),
  );
  if (!isPayable) return IMPOSSIBLE;
  return { usage: counted, basis: isDeclared ? "declared" : basis, ...priced };
}

/** True if the tokens are within `REPORTED_TOKENS_MAX` and the context plus one full output. */
function isPossible(usage: Usage, deployment: Deployment): boolean {
  const { contextLength, maxOutputTokens = OUTPUT_TOKENS_MAX, modality, decisions } = deployment;
  // For images, `maxOutputTokens` is a price ceiling per picture, and pictures do not count in the
  // context. For decisions with a prompt per question, all prompts together may exceed the context.
  const isBoundByContext =
    contextLength !== undefined && modality !== "image" && decisions?.isStatePerQuestion !== true;
  const bound = isBoundByContext ? contextLength + maxOutputTokens : REPORTED_TOKENS_MAX;
  const total = promptTokensTotal(usage) + outputTokensTotal(usage);
  return total <= Math.min(bound, REPORTED_TOKENS_MAX);
}

/** True if a complete answer cannot be charged. A video's usage comes when its job ends. */
export function lacksUsage(
  { usage, declaredUsage, reportedCostUsd }: AnswerBridge,
  { modality, billing }: Deployment,
): boolean {
  if (modality === "video") return false;
  const billed = billing === "reported_cost" ? reportedCostUsd : (usage ?? declaredUsage);
  return billed === undefined;
}

/** Returns the tokens to count in windows; for a complete answer without usage, `estimate`. */
export function observedTokens(
  settlement: Settlement,
  complete: boolean,
  estimate: TokenCount,
): TokenCount {
  const { usage } = settlement;
  if (usage !== null) return tokenCount(promptTokensTotal(usage), outputTokensTotal(usage));
  return complete ? estimate : NO_TOKENS;
}

export function toAttemptOutcome(result: AttemptResult, clientGone: boolean): AttemptOutcome {
  if (clientGone) return "client_disconnected";
  if (result.failure === undefined) return "completed";
  if (result.timedOut) return "timeout";
  if (result.hasOutput) return "stream_died";
  if (result.upstreamStatus === null) return "reset";
  return result.upstreamStatus < 500 && result.upstreamStatus >= 400 ? "refused" : "failed";
}

export function sumTokens(ended: readonly { readonly tokens: TokenCount }[]): TokenCount {
  return ended.reduce(
    (sum, { tokens }) =>
      tokenCount(
        sum.promptTokens + tokens.promptTokens,
        sum.completionTokens + tokens.completionTokens,
      ),
    NO_TOKENS,
  );
}
