import type { ReserveRow } from "../ledger/ledger-store.ts";
import type { CallRequest } from "../wire/modality.ts";
import type { AcceptedCall } from "./call-values.ts";
import type { Candidate } from "./candidates.ts";
import type { ClientExchange } from "./client-exchange.ts";
import type { CallPorts } from "./ports.ts";

export interface ReserveInput<R extends CallRequest> {
  readonly call: Pick<AcceptedCall<R>, "kind" | "request" | "tokens">;
  readonly candidate: Candidate;
  /** 1 for the first attempt of a request. */
  readonly ordinal: number;
}

/** The journal's row of an attempt that is about to be held: the most it can cost. */
export function reserveRow<R extends CallRequest>(
  ports: Pick<CallPorts, "ledger">,
  client: ClientExchange,
  input: ReserveInput<R>,
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
