import { parseUsd, writeUsd } from "../../../ui/money-math.ts";
import type { ChatAnswer, Turn } from "./chat-types.ts";

/** Tokens a second from the first token to the last; undefined: not measured. */
export function tokensPerSecond(answer: ChatAnswer): number | undefined {
  const { completionTokens, firstByteMs, durationMs } = answer;
  if (completionTokens === undefined || firstByteMs === undefined || durationMs === undefined) {
    return undefined;
  }
  const streamedMs = durationMs - firstByteMs;
  return streamedMs <= 0 ? undefined : Math.round((completionTokens * 1000) / streamedMs);
}

export interface Totals {
  readonly answers: number;
  /** Decimal dollars, of the answers whose cost is known. */
  readonly costUsd: string;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Of the newest answer. */
  readonly last: ChatAnswer | undefined;
}

/** What a conversation took: of one model, or of all of them. */
export function totalsOf(turns: readonly Turn[], modelId?: string): Totals {
  const answers = turns
    .flatMap((turn) => turn.answers)
    .filter((each) => modelId === undefined || each.modelId === modelId);
  const sum = (count: (answer: ChatAnswer) => number | undefined): number =>
    answers.reduce((all, each) => all + (count(each) ?? 0), 0);
  const cost = answers.reduce((all, { costUsd }) => all + parseUsd(costUsd ?? "0"), 0n);
  return {
    answers: answers.length,
    costUsd: writeUsd(cost),
    promptTokens: sum(({ promptTokens }) => promptTokens),
    completionTokens: sum(({ completionTokens }) => completionTokens),
    last: answers.at(-1),
  };
}
