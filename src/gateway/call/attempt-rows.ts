import { deploymentAt } from "../../catalog/index.ts";
import { type AttemptId, attemptInstantMs, ZERO_PICO_USD } from "../../kernel/index.ts";
import {
  type AnsweredHeaders,
  type CloseRow,
  droppedText,
  type LaneNote,
  type ReserveRow,
} from "../../ledger/index.ts";
import type { CallRequest } from "../../formats/index.ts";
import type { AcceptedCall, EndedAttempt, HeldAttempt } from "./call-values.ts";
import type { Candidate } from "./candidates.ts";
import type { ClientExchange, ServedHeaders } from "./client-exchange.ts";
import type { CallPorts } from "./ports.ts";
import { outcomeOf } from "./settlement.ts";

/**
 * An attempt that is about to be held: the most it can cost. Whenever it ends, its prices are those
 * in force at the instant its id carries, which is of the ledger's clock.
 */
export function attemptToHold<R extends CallRequest>(
  ports: Pick<CallPorts, "ledger">,
  client: ClientExchange,
  input: {
    readonly call: Pick<AcceptedCall<R>, "kind" | "request" | "tokens" | "trace">;
    readonly candidate: Candidate;
    /** 1 for the first attempt of a request. */
    readonly ordinal: number;
    /** Monotonic. */
    readonly nowMs: number;
  },
): HeldAttempt & { readonly ok: true } {
  const { call, ordinal } = input;
  const { request, kind, tokens } = call;
  const attemptId = ports.ledger.newAttemptId();
  const candidate = pricedCandidate(input.candidate, attemptId);
  const { deployment } = candidate.step;
  if (deployment.prices === null) throw new Error("the plan let an unpriced deployment through");
  const reserveMicroUsd = kind.quote(request, deployment);
  const trace = call.trace?.attempt({
    attemptId,
    deployment,
    reserveMicroUsd,
    isTranslated: kind.wire !== undefined && kind.wire !== deployment.wire,
    startedMs: input.nowMs,
  });
  const reserve: ReserveRow = {
    attemptId,
    requestId: client.requestId,
    ordinal,
    orgId: client.principal.orgId,
    keyId: client.principal.keyId,
    modelId: deployment.modelId,
    providerId: deployment.providerId,
    upstreamModelId: deployment.upstreamModelId,
    pricePinId: deployment.prices.pinId,
    route: client.route,
    stream: request.stream,
    estimatedTokens: tokens.tokens,
    reserveMicroUsd,
    lane: trace?.reserveLane,
  };
  return { ok: true, candidate, reserve, trace };
}

/** The candidate itself, but where its prices are other ones by now. */
function pricedCandidate(candidate: Candidate, attemptId: AttemptId): Candidate {
  const { step } = candidate;
  if (step.deployment.datedPrices === undefined) return candidate;
  const deployment = deploymentAt(step.deployment, attemptInstantMs(attemptId));
  return { ...candidate, step: { ...step, deployment } };
}

/** What its request knows of an attempt that has ended. */
interface AttemptEnd {
  /** `committed`: the headers of a 200 have left. */
  readonly client: Pick<ClientExchange, "gone" | "committed">;
  readonly final: boolean;
  /** Of the answer, if this attempt serves. */
  readonly headers: ServedHeaders;
  readonly lane?: LaneNote | undefined;
}

/** The closing row of an ended attempt. */
export function closeRow(
  { attemptId, startedAtMs, result, settlement }: EndedAttempt,
  end: AttemptEnd,
): CloseRow {
  const { usage, basis, costPicoUsd, owedPicoUsd, flag } = settlement;
  const { bridge, failure, upstreamStatus, firstByteMs, durationMs } = result;
  const served = bridge?.servedModel;
  return {
    attemptId,
    outcome: outcomeOf(result, end.client.gone),
    usage,
    basis,
    costPicoUsd,
    ...(owedPicoUsd !== undefined && { owedPicoUsd }),
    upstreamStatus,
    errorClass: flag ?? failure?.refusal.class ?? null,
    startedAtMs,
    firstByteMs,
    durationMs,
    ...(served === undefined ? {} : { served }),
    ...answeredHeaders(result, end),
    final: end.final,
    lane: end.lane,
  };
}

/** What is kept of the headers of the answer: only what no other column says, and only what was sent. */
function answeredHeaders(
  { failure }: EndedAttempt["result"],
  { headers, client }: AttemptEnd,
): AnsweredHeaders | undefined {
  const droppedParams = droppedText(headers.droppedParams ?? []);
  const dropped = droppedParams === undefined ? undefined : { droppedParams };
  if (client.committed || (failure === undefined && !client.gone)) {
    const { remainingRequests, remainingTokens, queueMs } = headers;
    return {
      ...(remainingRequests !== undefined && { remainingRequests }),
      ...(remainingTokens !== undefined && { remainingTokens }),
      ...(queueMs !== undefined && { queueMs }),
      ...dropped,
    };
  }
  const retryAfterSeconds = failure?.refusal.retryAfterSeconds;
  return client.gone || retryAfterSeconds === undefined
    ? dropped
    : { retryAfterSeconds, ...dropped };
}

/** The closing row of an attempt that a fault of our own ended. */
export function faultRow(open: ReserveRow, nowMs: number): CloseRow {
  return {
    attemptId: open.attemptId,
    outcome: "failed",
    usage: null,
    basis: "none",
    costPicoUsd: ZERO_PICO_USD,
    upstreamStatus: null,
    errorClass: "gateway_error",
    startedAtMs: nowMs,
    firstByteMs: null,
    durationMs: 0,
    final: true,
  };
}
