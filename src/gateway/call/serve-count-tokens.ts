import type { Principal } from "../accounts/principal.ts";
import type { Deployment } from "../../catalog/index.ts";
import { ERROR_BODY_BYTES_MAX, refused, type Result } from "../../kernel/index.ts";
import { fetchJson } from "../../upstream/index.ts";
import type {
  ParsedChatRequest,
  TokenCounting,
  TokenCounter,
  UpstreamRequest,
} from "../../formats/index.ts";
import { planRoute } from "../routing/plan-route.ts";
import type { CallKind } from "./call-kind.ts";
import type { ClientExchange, ServedHeaders } from "./client-exchange.ts";
import { countRequest } from "./count-request.ts";
import { findModel, planInput } from "./plan-call.ts";
import type { CallPorts } from "./ports.ts";
import { refuseCall } from "./refuse-call.ts";

/** How a wire counts tokens, and the call whose tokens are counted. */
export interface TokenCount {
  readonly counting: TokenCounting;
  readonly chat: CallKind<ParsedChatRequest>;
}

/**
 * The count of the provider that a call would go to first, when its wire can count; else, and when
 * that count fails, an estimate marked as one. Free.
 */
export async function serveCountTokens(
  deps: CallPorts,
  exchange: ClientExchange,
  count: TokenCount,
): Promise<void> {
  const { counting } = count;
  const parsed = counting.parse(exchange);
  if (!parsed.ok) return refuseCall(deps, exchange, parsed);
  const { request } = parsed;
  const choice = chooseCounter(deps, exchange.principal, { ...count, request });
  if (!choice.ok) return refuseCall(deps, exchange, { ...choice, request });
  const counted = await countRequest(deps, exchange);
  if (!counted.ok) return refuseCall(deps, exchange, { ...counted, request });

  if (exchange.gone) return;
  const { remainingRequests } = counted;
  const { deployment } = choice;
  const { droppedParams } = request;
  const answer = (tokens: number, headers: ServedHeaders): void =>
    exchange.answer("application/json", headers, counting.counter.answerBody(tokens));
  if (deployment === undefined) {
    const headers = { remainingRequests, droppedParams, estimate: "local" } as const;
    return answer(counting.estimate(request), headers);
  }
  const upstream = counting.encode(request, deployment);
  const { counter } = counting;
  const tokens = await askProvider(deps, exchange, { counter, deployment, upstream });
  const attempts = 1;
  if (tokens === undefined) {
    const headers = { attempts, remainingRequests, droppedParams, estimate: "local" } as const;
    return answer(counting.estimate(request), headers);
  }
  answer(tokens, {
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
  { counting, chat, request }: TokenCount & { readonly request: ParsedChatRequest },
): Result<{ readonly deployment: Deployment | undefined }> {
  const nowMs = deps.clock.monotonicMs();
  const asSent = planInput(deps, principal, {
    modelId: request.modelId,
    model: findModel(deps.catalog.current, principal, request.modelId).model,
    modality: "text",
    controls: request.controls,
    servabilityProblem: (deployment) => chat.servabilityProblem(request, deployment),
    // A half-open circuit waits for a probe whose outcome is reported; a count reports none.
    isHealthy: ({ id }) => deps.health.mayTry(id, nowMs) === "yes",
  });
  const plan = planRoute(asSent);
  if (plan.kind === "plan") {
    const { first } = plan;
    return { ok: true, deployment: counting.isAnsweredBy(first) ? first : undefined };
  }
  // Nothing is generated: what no provider could serve, or not now, is estimated all the same.
  const anyone = planRoute({
    ...asSent,
    servabilityProblem: () => undefined,
    isHealthy: () => true,
  });
  if (anyone.kind === "refused" && anyone.refusal.class !== "model_not_priced") {
    return refused(anyone.refusal);
  }
  return { ok: true, deployment: undefined };
}

/** Undefined: the provider gave no count in time, and says nothing about its health by that. */
async function askProvider(
  deps: CallPorts,
  exchange: ClientExchange,
  asked: {
    readonly counter: TokenCounter;
    readonly deployment: Deployment;
    readonly upstream: UpstreamRequest;
  },
): Promise<number | undefined> {
  const { clock, deadlines, timeouts, upstream } = deps;
  const running = fetchJson({
    clock,
    deadlines,
    // An estimate in time is worth more than a count that comes too late.
    totalMs: Math.min(timeouts.stream.headersMs, timeouts.whole.totalMs),
    bytesMax: ERROR_BODY_BYTES_MAX,
    send: (handler) => upstream.send(asked.deployment, asked.upstream, handler),
  });
  exchange.onGone(() => running.abandon());
  return asked.counter.read(await running.ended);
}
