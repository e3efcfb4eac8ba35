/*
 * Every name that leaves in a trace. Those of the semantic conventions are of version 1.41.0; when
 * a newer one renames them, this file changes and nothing else.
 */

export const SCHEMA_URL = "https://opentelemetry.io/schemas/1.41.0";
export const SCOPE_NAME = "tokenmarket";

export const SPAN = {
  claim: "limits.claim",
  queue: "queue.wait",
  reserve: "ledger.reserve",
  settle: "ledger.settle",
} as const;

/** What a model is asked for, by modality: the operation's name, and the first word of the span. */
export const OPERATION = {
  text: "chat",
  image: "generate_content",
  video: "generate_content",
  decisions: "tm.decide",
} as const;

export const ATTRIBUTE = {
  method: "http.request.method",
  route: "http.route",
  status: "http.response.status_code",
  errorType: "error.type",
  serverAddress: "server.address",
  serverPort: "server.port",
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  requestModel: "gen_ai.request.model",
  requestStream: "gen_ai.request.stream",
  requestMaxTokens: "gen_ai.request.max_tokens",
  responseModel: "gen_ai.response.model",
  finishReasons: "gen_ai.response.finish_reasons",
  timeToFirstChunk: "gen_ai.response.time_to_first_chunk",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  cacheReadTokens: "gen_ai.usage.cache_read.input_tokens",
  cacheCreationTokens: "gen_ai.usage.cache_creation.input_tokens",
  reasoningTokens: "gen_ai.usage.reasoning.output_tokens",
  requestId: "tm.request_id",
  orgId: "tm.org_id",
  keyId: "tm.key_id",
  attempts: "tm.attempts",
  wire: "tm.wire",
  limitScope: "tm.limit.scope",
  limitKind: "tm.limit.kind",
  reserveMicroUsd: "tm.reserve_micro_usd",
  debitMicroUsd: "tm.debit_micro_usd",
  settlement: "tm.settlement",
  laneWaitMs: "tm.lane_wait_ms",
  batchRows: "tm.batch_rows",
  attemptId: "tm.attempt_id",
  translated: "tm.translated",
} as const;
