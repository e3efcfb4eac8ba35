import type { Deployment } from "../../catalog/index.ts";
import {
  createSpanId,
  memoizeByObject,
  type MicroUsd,
  outputTokensTotal,
  promptTokensTotal,
} from "../../kernel/index.ts";
import type { AttemptNotes, RequestNotes, TraceContext } from "./request-notes.ts";

export type AttributeValue = string | number | boolean | string[];
export type SpanAttributes = Record<string, AttributeValue>;

interface Interval {
  readonly startedMs: number;
  readonly endedMs: number;
}

/** An ended span, before it is converted for an exporter. Times are monotonic milliseconds. */
export interface PlainSpan extends Interval {
  readonly name: string;
  readonly kind: "server" | "client" | "internal";
  readonly context: TraceContext;
  readonly parent: TraceContext | undefined;
  readonly isParentRemote: boolean;
  /** The caller's span, to which a separate trace of this request links. */
  readonly link?: TraceContext | undefined;
  readonly hasFailed: boolean;
  readonly attributes: SpanAttributes;
}

/** Builds the spans of a request: its own first, then the inner ones in order of their starts. */
export function buildSpans(notes: RequestNotes): readonly PlainSpan[] {
  const spans = [requestSpan(notes)];
  const { claimingMs, claimedMs, claimRefused, queuedMs, context } = notes;
  if (claimedMs >= 0) {
    const hasFailed = claimRefused !== undefined;
    const limit = claimRefused?.limit;
    const attributes: SpanAttributes = {};
    if (limit !== undefined) attributes[ATTRIBUTE.limitScope] = limit.scope;
    if (limit !== undefined) attributes[ATTRIBUTE.limitKind] = limit.kind;
    const times = { startedMs: claimingMs, endedMs: claimedMs };
    spans.push(innerSpan(context, { ...times, name: SPAN.claim, attributes, hasFailed }));
  }
  if (queuedMs >= 0) {
    const times = { startedMs: claimedMs, endedMs: queuedMs };
    const span = { ...times, name: SPAN.queue, attributes: {}, hasFailed: false };
    spans.push(innerSpan(context, span));
  }
  for (const attempt of notes.attempts) addAttempt(spans, notes, attempt);
  return spans;
}

function requestSpan(notes: RequestNotes): PlainSpan {
  const { request, principal, call, end, parent, link, context, attempts } = notes;
  const { method, route, startedMs } = request;
  const status = end?.status ?? 0;
  const attributes: SpanAttributes = {
    [ATTRIBUTE.method]: method,
    [ATTRIBUTE.route]: route,
    [ATTRIBUTE.requestId]: request.requestId,
    [ATTRIBUTE.attempts]: attempts.filter(({ sentMs }) => sentMs >= 0).length,
  };
  const errorType = end?.refusal?.class ?? attempts.at(-1)?.end?.result.failure?.refusal.class;
  if (status > 0) attributes[ATTRIBUTE.status] = status;
  if (errorType !== undefined) attributes[ATTRIBUTE.errorType] = errorType;
  if (principal !== undefined) attributes[ATTRIBUTE.orgId] = principal.orgId;
  if (principal !== undefined) attributes[ATTRIBUTE.keyId] = principal.keyId;
  if (call?.wire !== undefined) attributes[ATTRIBUTE.wire] = call.wire;
  if (notes.debitMicroUsd !== undefined) {
    attributes[ATTRIBUTE.debitMicroUsd] = presentAmount(notes.debitMicroUsd);
  }
  // By the semantic conventions, a caller's mistake does not make a server's span fail.
  const hasFailed = status >= 500 || (status === 200 && errorType !== undefined);
  const times = { startedMs, endedMs: end?.nowMs ?? startedMs };
  const name = `${method} ${route}`;
  const placed = { context, parent, link, isParentRemote: true };
  return { name, kind: "server", ...placed, ...times, hasFailed, attributes };
}

type InnerSpan = Interval & Pick<PlainSpan, "name" | "attributes" | "hasFailed">;

function innerSpan(parent: TraceContext, span: InnerSpan): PlainSpan {
  const { name, startedMs, endedMs, attributes, hasFailed } = span;
  const context = { ...parent, spanId: createSpanId() };
  const placed = { context, parent, isParentRemote: false };
  return { name, kind: "internal", ...placed, startedMs, endedMs, hasFailed, attributes };
}

function addAttempt(spans: PlainSpan[], notes: RequestNotes, attempt: AttemptNotes): void {
  const { context } = notes;
  const { held, reservedMs, sentMs, endedMs, settledMs } = attempt;
  if (reservedMs >= 0) {
    const attributes = laneAttributes(attempt.reserveLane);
    attributes[ATTRIBUTE.reserveMicroUsd] = presentAmount(held.reserveMicroUsd);
    const { refused } = attempt;
    if (refused !== undefined) attributes[ATTRIBUTE.errorType] = refused.class;
    const times = { startedMs: held.startedMs, endedMs: reservedMs };
    const hasFailed = refused !== undefined;
    spans.push(innerSpan(context, { name: SPAN.reserve, ...times, attributes, hasFailed }));
  }
  if (sentMs >= 0) spans.push(attemptSpan(notes, attempt));
  if (settledMs >= 0) {
    const attributes = laneAttributes(attempt.settleLane);
    if (attempt.debitMicroUsd !== undefined) {
      attributes[ATTRIBUTE.debitMicroUsd] = presentAmount(attempt.debitMicroUsd);
    }
    if (attempt.end !== undefined) attributes[ATTRIBUTE.settlement] = attempt.end.settlement.basis;
    const startedMs = endedMs >= 0 ? endedMs : settledMs;
    const times = { startedMs, endedMs: settledMs };
    spans.push(innerSpan(context, { name: SPAN.settle, ...times, attributes, hasFailed: false }));
  }
}

/** The span contains figures and names, never a prompt or an answer. */
function attemptSpan(notes: RequestNotes, attempt: AttemptNotes): PlainSpan {
  const { held, end, spanId, sentMs } = attempt;
  const { deployment } = held;
  const operation = OPERATION[deployment.modality];
  const failure = end?.result.failure?.refusal;
  const attributes: SpanAttributes = {
    [ATTRIBUTE.operation]: operation,
    [ATTRIBUTE.provider]: deployment.providerId,
    [ATTRIBUTE.requestModel]: deployment.modelId,
    [ATTRIBUTE.attemptId]: String(held.attemptId),
    [ATTRIBUTE.translated]: held.isTranslated,
  };
  const { host, port } = parseAddress(deployment);
  attributes[ATTRIBUTE.serverAddress] = host;
  attributes[ATTRIBUTE.serverPort] = port;
  const asked = notes.call?.request;
  if (asked !== undefined) attributes[ATTRIBUTE.requestStream] = asked.stream;
  if (asked !== undefined && deployment.modality === "text") {
    attributes[ATTRIBUTE.requestMaxTokens] = asked.outputTokens;
  }
  if (failure !== undefined) attributes[ATTRIBUTE.errorType] = failure.class;
  if (end !== undefined) addAnswer(attributes, end);
  const name = `${operation} ${deployment.modelId}`;
  const context = { ...notes.context, spanId };
  const times = { startedMs: sentMs, endedMs: Math.max(attempt.endedMs, sentMs) };
  const placed = { context, parent: notes.context, isParentRemote: false };
  return {
    name,
    kind: "client",
    ...placed,
    ...times,
    hasFailed: failure !== undefined,
    attributes,
  };
}

function addAnswer(
  attributes: SpanAttributes,
  { result, settlement }: NonNullable<AttemptNotes["end"]>,
): void {
  const { bridge, firstOutputMs } = result;
  const served = bridge?.servedModel;
  // A substituted model's name is arbitrary text from the provider, so it is not exported.
  if (served?.isSubstituted === false) attributes[ATTRIBUTE.responseModel] = served.name;
  const reason = bridge?.finishReason;
  if (reason !== undefined) attributes[ATTRIBUTE.finishReasons] = [reason];
  if (firstOutputMs !== null) attributes[ATTRIBUTE.timeToFirstChunk] = firstOutputMs / 1_000;
  const { usage } = settlement;
  if (usage === null) return;
  attributes[ATTRIBUTE.inputTokens] = promptTokensTotal(usage);
  attributes[ATTRIBUTE.outputTokens] = outputTokensTotal(usage);
  attributes[ATTRIBUTE.cacheReadTokens] = usage.cachedPrompt;
  attributes[ATTRIBUTE.cacheCreationTokens] = usage.cacheWrite;
  attributes[ATTRIBUTE.reasoningTokens] = usage.internalReasoning;
}

function laneAttributes(lane: AttemptNotes["reserveLane"]): SpanAttributes {
  if (lane.batchRows < 0) return {};
  return { [ATTRIBUTE.laneWaitMs]: lane.waitMs, [ATTRIBUTE.batchRows]: lane.batchRows };
}

const parseAddress = memoizeByObject(({ baseUrl }: Deployment) => {
  const url = new URL(baseUrl);
  const standardPort = url.protocol === "https:" ? 443 : 80;
  return { host: url.hostname, port: url.port === "" ? standardPort : Number(url.port) };
});

/**
 * Every name that traces export, by version 1.41.0 of the semantic conventions. If a newer version
 * renames some of them, only this file must change.
 */

export const SCHEMA_URL = "https://opentelemetry.io/schemas/1.41.0";
export const SCOPE_NAME = "tokenmarket";

export const SPAN = {
  claim: "limits.claim",
  queue: "queue.wait",
  reserve: "ledger.reserve",
  settle: "ledger.settle",
} as const;

const OPERATION = {
  text: "chat",
  image: "generate_content",
  video: "generate_content",
  decisions: "tm.decide",
} as const;

const ATTRIBUTE = {
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

/** Converts an amount to a number, because attributes cannot be bigints; inexact above 2^53. */
export function presentAmount(amount: MicroUsd): number {
  return Number(amount);
}
