import type { Deployment } from "../../catalog/index.ts";
import {
  createSpanId,
  defined,
  memoizeByObject,
  type MicroUsd,
  outputTokensTotal,
  promptTokensTotal,
} from "../../kernel/index.ts";
import type { AttemptNotes, RequestNotes, TraceContext } from "./request-notes.ts";

type SpanAttributes = Record<string, string | number | boolean | string[]>;

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
    const limit = claimRefused?.limit;
    const attributes = defined({ "tm.limit.scope": limit?.scope, "tm.limit.kind": limit?.kind });
    const times = { startedMs: claimingMs, endedMs: claimedMs };
    const hasFailed = claimRefused !== undefined;
    spans.push(innerSpan(context, { name: SPAN.claim, ...times, hasFailed, attributes }));
  }
  if (queuedMs >= 0) {
    const times = { startedMs: claimedMs, endedMs: queuedMs };
    const span = { name: SPAN.queue, ...times, hasFailed: false, attributes: {} };
    spans.push(innerSpan(context, span));
  }
  for (const attempt of notes.attempts) addAttempt(spans, notes, attempt);
  return spans;
}

function requestSpan(notes: RequestNotes): PlainSpan {
  const { request, principal, call, end, parent, link, context, attempts } = notes;
  const { method, route, startedMs } = request;
  const status = end?.status ?? 0;
  const errorType = end?.refusal?.class ?? attempts.at(-1)?.end?.result.failure?.refusal.class;
  const attributes = defined({
    "http.request.method": method,
    "http.route": route,
    "tm.request_id": request.requestId,
    "tm.attempts": attempts.filter(({ sentMs }) => sentMs >= 0).length,
    "http.response.status_code": status > 0 ? status : undefined,
    "error.type": errorType,
    "tm.org_id": principal?.orgId,
    "tm.key_id": principal?.keyId,
    "tm.wire": call?.wire,
    "tm.debit_micro_usd": presentAmount(notes.debitMicroUsd),
  });
  // By the semantic conventions, a caller's mistake does not make a server's span fail.
  const hasFailed = status >= 500 || (status === 200 && errorType !== undefined);
  const times = { startedMs, endedMs: end?.nowMs ?? startedMs };
  const name = `${method} ${route}`;
  const placed = { context, parent, link, isParentRemote: true };
  return { name, kind: "server", ...placed, ...times, hasFailed, attributes };
}

type InnerSpan = Interval & Pick<PlainSpan, "name" | "attributes" | "hasFailed">;

function innerSpan(parent: TraceContext, span: InnerSpan): PlainSpan {
  const context = { ...parent, spanId: createSpanId() };
  return { kind: "internal", context, parent, isParentRemote: false, ...span };
}

function addAttempt(spans: PlainSpan[], notes: RequestNotes, attempt: AttemptNotes): void {
  const { context } = notes;
  const { held, refused, reservedMs, sentMs, endedMs, settledMs } = attempt;
  if (reservedMs >= 0) {
    const attributes = defined({
      ...laneAttributes(attempt.reserveLane),
      "tm.reserve_micro_usd": presentAmount(held.reserveMicroUsd),
      "error.type": refused?.class,
    });
    const times = { startedMs: held.startedMs, endedMs: reservedMs };
    const hasFailed = refused !== undefined;
    spans.push(innerSpan(context, { name: SPAN.reserve, ...times, attributes, hasFailed }));
  }
  if (sentMs >= 0) spans.push(attemptSpan(notes, attempt));
  if (settledMs >= 0) {
    const attributes = defined({
      ...laneAttributes(attempt.settleLane),
      "tm.debit_micro_usd": presentAmount(attempt.debitMicroUsd),
      "tm.settlement": attempt.end?.settlement.basis,
    });
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
  const { host, port } = parseAddress(deployment);
  const asked = notes.call?.request;
  const attributes = defined({
    "gen_ai.operation.name": operation,
    "gen_ai.provider.name": deployment.providerId,
    "gen_ai.request.model": deployment.modelId,
    "tm.attempt_id": String(held.attemptId),
    "tm.translated": held.isTranslated,
    "server.address": host,
    "server.port": port,
    "gen_ai.request.stream": asked?.stream,
    "gen_ai.request.max_tokens": deployment.modality === "text" ? asked?.outputTokens : undefined,
    "error.type": failure?.class,
    ...(end && answerAttributes(end)),
  });
  return {
    name: `${operation} ${deployment.modelId}`,
    kind: "client",
    context: { ...notes.context, spanId },
    parent: notes.context,
    isParentRemote: false,
    startedMs: sentMs,
    endedMs: Math.max(attempt.endedMs, sentMs),
    hasFailed: failure !== undefined,
    attributes,
  };
}

function answerAttributes({ result, settlement }: NonNullable<AttemptNotes["end"]>) {
  const { bridge, firstOutputMs } = result;
  const { usage } = settlement;
  const served = bridge?.servedModel;
  const reason = bridge?.finishReason;
  return {
    // A substituted model's name is arbitrary text from the provider, so it is not exported.
    "gen_ai.response.model": served?.isSubstituted === false ? served.name : undefined,
    "gen_ai.response.finish_reasons": reason === undefined ? undefined : [reason],
    "gen_ai.response.time_to_first_chunk":
      firstOutputMs === null ? undefined : firstOutputMs / 1_000,
    ...(usage !== null && {
      "gen_ai.usage.input_tokens": promptTokensTotal(usage),
      "gen_ai.usage.output_tokens": outputTokensTotal(usage),
      "gen_ai.usage.cache_read.input_tokens": usage.cachedPrompt,
      "gen_ai.usage.cache_creation.input_tokens": usage.cacheWrite,
      "gen_ai.usage.reasoning.output_tokens": usage.internalReasoning,
    }),
  };
}

function laneAttributes({ waitMs, batchRows }: AttemptNotes["reserveLane"]): SpanAttributes {
  return batchRows < 0 ? {} : { "tm.lane_wait_ms": waitMs, "tm.batch_rows": batchRows };
}

const parseAddress = memoizeByObject(({ baseUrl }: Deployment) => {
  const url = new URL(baseUrl);
  const standardPort = url.protocol === "https:" ? 443 : 80;
  return { host: url.hostname, port: url.port === "" ? standardPort : Number(url.port) };
});

/** The version of the semantic conventions that the standard names in this file follow. */
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

/** Converts an amount to a number, because attributes cannot be bigints; inexact above 2^53. */
function presentAmount(amount: MicroUsd | undefined): number | undefined {
  return amount === undefined ? undefined : Number(amount);
}
