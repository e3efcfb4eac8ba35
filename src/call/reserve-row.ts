import type { ReserveRow } from "../ledger/ledger-store.ts";
import type { TokenCount } from "../limits/limit-store.ts";
import type { CallKind, CallRequest, Step } from "./call-kind.ts";
import type { ClientExchange } from "./client-exchange.ts";
import type { ServeDeps } from "./serve-deps.ts";

export interface ReserveInput<R extends CallRequest> {
  readonly request: R;
  readonly kind: CallKind<R>;
  readonly step: Step;
  /** What the token windows were claimed by. */
  readonly tokens: TokenCount;
  /** 1 for the first attempt of a request. */
  readonly ordinal: number;
}

/** The journal's row of an attempt that is about to be held: the most it can cost. */
export function reserveRow<R extends CallRequest>(
  deps: Pick<ServeDeps, "ledger">,
  exchange: ClientExchange,
  input: ReserveInput<R>,
): ReserveRow {
  const { request, kind, step, tokens, ordinal } = input;
  const { deployment } = step;
  if (deployment.prices === null) throw new Error("the plan let an unpriced deployment through");
  return {
    attemptId: deps.ledger.newAttemptId(),
    requestId: exchange.requestId,
    ordinal,
    orgId: exchange.principal.orgId,
    keyId: exchange.principal.keyId,
    modelId: deployment.modelId,
    providerId: deployment.providerId,
    upstreamModelId: deployment.upstreamModelId,
    pricePinId: deployment.prices.pinId,
    route: exchange.route,
    stream: request.stream,
    estimatedTokens: tokens.tokens,
    reserveMicroUsd: kind.quote(request, deployment),
  };
}
