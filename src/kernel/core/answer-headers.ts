/** Names of the headers that an answer has and its record shows, each once. */
export const ANSWER_HEADERS = {
  provider: "x-tm-provider",
  attempts: "x-tm-attempts",
  remainingRequests: "x-tm-remaining-rpm",
  remainingTokens: "x-tm-remaining-tpm",
  queueMs: "x-tm-queue-ms",
  droppedParams: "x-tm-dropped-params",
  errorCode: "x-tm-error-code",
  errorOrigin: "x-tm-error-origin",
  limitScope: "x-tm-limit-scope",
  limitKind: "x-tm-limit-kind",
  limitId: "x-tm-limit-id",
  capReset: "x-tm-cap-reset",
  retryAfter: "retry-after",
} as const;
