import type { Principal } from "../accounts/principal.ts";
import type { Deployment } from "../catalog/catalog.ts";
import { errorBodyBytesMax } from "../core/constants.ts";
import type { Refusal } from "../core/refusals.ts";
import { fetchJson } from "../dispatch/fetch-json.ts";
import { planRoute } from "../routing/plan-route.ts";
import type { ChatRequest } from "../wire/chat-request.ts";
import type { UpstreamRequest } from "../wire/upstream-request.ts";
import { chatWires } from "../modality/chat/registry.ts";
import {
  countsTokens,
  encodeCountTokens,
  readCountTokensRequest,
  estimateTokens,
} from "../modality/chat/count-tokens-request.ts";
import { isRefusal } from "./call-kind.ts";
import type { ClientExchange, ServedHeaders } from "./client-exchange.ts";
import { countRequest } from "./count-request.ts";
import { findModel, planInput } from "./plan-call.ts";
import { refuseCall } from "./refuse-call.ts";
import type { CallPorts } from "./ports.ts";

/**
 * `POST /v1/messages/count_tokens`: the count of the provider that a call would go to first, when
 * its wire can count; else, and when that count fails, an estimate marked as one. Free.
 */
export async function serveCountTokens(deps: CallPorts, exchange: ClientExchange): Promise<void> {
  const betaHeader = exchange.header("anthropic-beta");
  const beta = betaHeader === undefined ? {} : { betaHeader };
  const request = readCountTokensRequest({ body: exchange.body, ...beta });
  if (isRefusal(request)) return refuseCall(deps, exchange, { refusal: request });
  const choice = chooseCounter(deps, exchange.principal, request);
  if (isRefusal(choice)) return refuseCall(deps, exchange, { refusal: choice, request });
  const counted = await countRequest(deps, exchange);
  if (isRefusal(counted)) return refuseCall(deps, exchange, { refusal: counted, request });

  if (exchange.gone) return;
  const { remainingRequests } = counted;
  const { deployment } = choice;
  const { droppedParams } = request;
  if (deployment === undefined) {
    const tokens = estimateTokens(request);
    return answer(exchange, tokens, { remainingRequests, droppedParams, estimate: "local" });
  }
  const upstream = encodeCountTokens(request, deployment);
  const tokens = await askProvider(deps, exchange, { deployment, upstream });
  const attempts = 1;
  if (tokens === undefined) {
    const headers = { attempts, remainingRequests, droppedParams, estimate: "local" } as const;
    return answer(exchange, estimateTokens(request), headers);
  }
  answer(exchange, tokens, {
    provider: deployment.providerId,
    attempts,
    remainingRequests,
    droppedParams: upstream.droppedParams,
  });
}

/** Who counts: a deployment, the gateway itself, or a request that names no usable model. */
function chooseCounter(
  deps: CallPorts,
  principal: Principal,
  request: ChatRequest,
): { readonly deployment: Deployment | undefined } | Refusal {
  const nowMs = deps.clock.monotonicMs();
  const asSent = planInput(deps, principal, {
    modelId: request.modelId,
    model: findModel(deps.catalog.current, principal, request.modelId).model,
    modality: "text",
    controls: request.controls,
    whyUnservable: (deployment) => chatWires.whyUnservable(request, deployment),
    // A half-open circuit waits for a probe whose outcome is reported; a count reports none.
    isHealthy: ({ id }) => deps.health.mayTry(id, nowMs) === "yes",
  });
  const plan = planRoute(asSent);
  if (plan.kind === "plan") {
    return { deployment: countsTokens(plan.first) ? plan.first : undefined };
  }
  // Nothing is generated: what no provider could serve, or not now, is estimated all the same.
  const anyone = planRoute({ ...asSent, whyUnservable: () => undefined, isHealthy: () => true });
  if (anyone.kind === "refused" && anyone.refusal.class !== "model_not_priced") {
    return anyone.refusal;
  }
  return { deployment: undefined };
}

/** Undefined: the provider gave no count in time, and says nothing about its health by that. */
async function askProvider(
  deps: CallPorts,
  exchange: ClientExchange,
  asked: { readonly deployment: Deployment; readonly upstream: UpstreamRequest },
): Promise<number | undefined> {
  const { clock, deadlines, timeouts, upstream } = deps;
  const running = fetchJson({
    clock,
    deadlines,
    // An estimate in time is worth more than a count that comes too late.
    totalMs: Math.min(timeouts.stream.headersMs, timeouts.whole.totalMs),
    bytesMax: errorBodyBytesMax,
    send: (handler) => upstream.send(asked.deployment, asked.upstream, handler),
  });
  exchange.onGone(() => running.abandon());
  return inputTokensOf(await running.ended);
}

function inputTokensOf(json: unknown): number | undefined {
  if (typeof json !== "object" || json === null || !("input_tokens" in json)) return undefined;
  const tokens = json.input_tokens;
  return typeof tokens === "number" && Number.isSafeInteger(tokens) && tokens >= 0
    ? tokens
    : undefined;
}

function answer(exchange: ClientExchange, tokens: number, headers: ServedHeaders): void {
  exchange.answer("application/json", headers, Buffer.from(`{"input_tokens":${tokens}}`));
}
