/** What of a provider's profile its answers are read by; nothing: as its wire says. */
export interface AnswerReading {
  /** What a total has above its parts is reasoning. */
  readonly usageGap?: "reasoning";
  /** Calls carry signatures that the next turn has to bring back. */
  readonly toolSignature?: "gemini";
}
