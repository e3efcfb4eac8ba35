import type { ChatAnswer } from "./chat-types.ts";

/** Tokens per second between the first token and the last; undefined if it was not measured. */
export function tokensPerSecond(answer: ChatAnswer): number | undefined {
  const { completionTokens, firstByteMs, durationMs } = answer;
  if (completionTokens === undefined || firstByteMs === undefined || durationMs === undefined) {
    return undefined;
  }
  const streamedMs = durationMs - firstByteMs;
  return streamedMs <= 0 ? undefined : Math.round((completionTokens * 1000) / streamedMs);
}
