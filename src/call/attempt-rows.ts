import { ZERO_PICO_USD } from "../core/index.ts";
import type { CloseRow, ReserveRow } from "../ledger/index.ts";
import type { CallRequest } from "../wire/index.ts";
import type { AcceptedCall, EndedAttempt } from "./call-values.ts";
import type { Candidate } from "./candidates.ts";
import type { ClientExchange } from "./client-exchange.ts";
import type { CallPorts } from "./ports.ts";
import { outcomeOf } from "./settlement.ts";

/** The journal's row of an attempt that is about to be held: the most it can cost. */
export function reserveRow<R extends CallRequest>(
  ports: Pick<CallPorts, "ledger">,
  client: ClientExchange,
  input: {
    readonly call: Pick<AcceptedCall<R>, "kind" | "request" | "tokens">;
    readonly candidate: Candidate;
    /** 1 for the first attempt of a request. */
    readonly ordinal: number;
  },
): ReserveRow {
  const { call, candidate, ordinal } = input;
  const { request, kind, tokens } = call;
  const { deployment } = candidate.step;
  if (deployment.prices === null) throw new Error("the plan let an unpriced deployment through");
  return {
    attemptId: ports.ledger.newAttemptId(),
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
    reserveMicroUsd: kind.quote(request, deployment),
  };
}

/** The closing row of an ended attempt. */
export function closeRow(
  { attemptId, startedAtMs, result, settlement }: EndedAttempt,
  end: { readonly clientGone: boolean; readonly final: boolean },
): CloseRow {
  const { usage, basis, costPicoUsd, flag } = settlement;
  const { bridge, failure, upstreamStatus, firstByteMs, durationMs } = result;
  const served = bridge?.servedModel;
  return {
    attemptId,
    outcome: outcomeOf(result, end.clientGone),
    usage,
    basis,
    costPicoUsd,
    upstreamStatus,
    errorClass: flag ?? failure?.refusal.class ?? null,
    startedAtMs,
    firstByteMs,
    durationMs,
    ...(served === undefined ? {} : { served }),
    final: end.final,
  };
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
