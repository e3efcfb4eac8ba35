import { admit } from "../admission/admit.ts";
import type { Deployment } from "../catalog/catalog.ts";
import { assert } from "../core/assert.ts";
import { microUsd, usdJsonNumber, type MicroUsd } from "../core/money.ts";
import { refusal, type Refusal } from "../core/refusals.ts";
import type { AttemptResult } from "../dispatch/run-attempt.ts";
import type { ReserveRow } from "../ledger/ledger-store.ts";
import { tokenCount, type LimitLease, type TokenCount } from "../limits/limit-store.ts";
import { debitOf } from "../pricing/quote.ts";
import { planRoute, type RoutePlan } from "../routing/plan-route.ts";
import { isRefusal, type CallKind, type CallRequest, type Step } from "./call-kind.ts";
import type { ClientExchange, ServedHeaders } from "./client-exchange.ts";
import { CallHold } from "./call-hold.ts";
import { Delivery } from "./delivery.ts";
import { startAttempt, type AttemptStart } from "./start-attempt.ts";
import type { ServeDeps } from "./serve-deps.ts";
import { closeRowOf, observedTokens, settlementOf, type Settlement } from "./settlement.ts";

/**
 * Serves one call from its bytes to its settled answer: read, plan, hold, dispatch with failover,
 * settle, answer. Streaming and not, same wire and across, it is this one path.
 */
export async function serveCall<R extends CallRequest>(
  deps: ServeDeps,
  exchange: ClientExchange,
  kind: CallKind<R>,
): Promise<void> {
  const request = kind.read(exchange);
  if (isRefusal(request)) return refuseCall(deps, exchange, { refusal: request });
  const plan = planRoute({
    modelId: request.modelId,
    model: deps.catalog.current.find(request.modelId),
    modality: kind.modality,
    controls: request.controls,
    whyUnservable: (deployment) => kind.whyUnservable(request, deployment),
    isHealthy: (deployment) => deps.health.mayTry(deployment.id, deps.clock.monotonicMs()) !== "no",
  });
  if (plan.kind === "refused")
    return refuseCall(deps, exchange, { refusal: plan.refusal, request });
  const steps = encodedSteps(plan, request, kind);
  const first = steps.next();
  if (first.done === true) {
    return refuseCall(deps, exchange, { refusal: first.value ?? nothingEncodes(), request });
  }

  const firstReserve = reserveRow(deps, exchange, { request, kind, step: first.value, ordinal: 1 });
  const admitted = await admit(deps, {
    scopes: deps.scopesOf(exchange.principal),
    tokens: tokenCount(request.estimatedInputTokens, request.outputTokens),
    reserve: firstReserve,
    nowMs: deps.clock.nowMs(),
    monotonicMs: deps.clock.monotonicMs(),
  });
  if (admitted.kind === "refused") {
    return refuseCall(deps, exchange, { refusal: admitted.refusal, request });
  }
  const hold = new CallHold(deps, firstReserve, admitted.lease);
  const { lease } = admitted;
  const held = { kind, request, steps, step: first.value, reserve: firstReserve, lease, hold };
  try {
    await serveAdmitted(deps, exchange, held);
  } catch (fault) {
    hold.giveUp();
    throw fault;
  }
}

interface Admitted<R extends CallRequest> {
  readonly kind: CallKind<R>;
  readonly request: R;
  readonly steps: Generator<Step, Refusal | undefined>;
  readonly step: Step;
  readonly reserve: ReserveRow;
  readonly lease: LimitLease;
  readonly hold: CallHold;
}

/** One physical dispatch, ended and closed. */
interface EndedAttempt {
  readonly result: AttemptResult;
  readonly settlement: Settlement;
  readonly debitMicroUsd: MicroUsd;
}

/** Attempts one candidate after the other until one serves; closes every attempt exactly once. */
async function serveAdmitted<R extends CallRequest>(
  deps: ServeDeps,
  exchange: ClientExchange,
  admitted: Admitted<R>,
): Promise<void> {
  const { kind, request, steps, lease, hold } = admitted;
  let { step, reserve } = admitted;
  const ended: EndedAttempt[] = [];
  const served = (): ServedHeaders => ({
    provider: step.deployment.providerId,
    attempts: reserve.ordinal,
    remainingRequests: lease.remainingRequests,
    remainingTokens: lease.remainingTokens,
    droppedParams: [...request.droppedParams, ...step.upstream.droppedParams],
  });
  const { clock, deadlines } = deps;
  const { keepaliveMs } = deps.timeouts;
  const delivery = new Delivery({ exchange, clock, deadlines, keepaliveMs, headers: served });
  const lastStartMs = clock.monotonicMs() + deps.timeouts.routingMs;

  for (;;) {
    const startedAtMs = clock.nowMs();
    const { attemptId } = reserve;
    const result = exchange.gone
      ? neverSent()
      : await attemptOnce(deps, exchange, { kind, request, step, delivery, attemptId });
    const settlement = settlementOf(result, step.deployment);
    const mayGoOn =
      result.failure?.failover === true &&
      !result.committed &&
      !exchange.gone &&
      clock.monotonicMs() < lastStartMs;
    const next = mayGoOn ? steps.next() : undefined;
    const nextStep = next === undefined || next.done === true ? undefined : next.value;
    const close = closeRowOf({
      attemptId,
      result,
      settlement,
      startedAtMs,
      clientGone: exchange.gone,
      final: nextStep === undefined,
    });
    const known = debitOf(settlement.costPicoUsd, reserve.reserveMicroUsd);
    if (nextStep === undefined) {
      const closed = await hold.close(close);
      const debitMicroUsd = closed.kind === "pending" ? known : closed.debitMicroUsd;
      ended.push({ result, settlement, debitMicroUsd });
      break;
    }
    ended.push({ result, settlement, debitMicroUsd: known });
    const ordinal = reserve.ordinal + 1;
    const nextReserve = reserveRow(deps, exchange, { request, kind, step: nextStep, ordinal });
    const rolled = await hold.roll(close, nextReserve);
    // Without money for the next candidate the caller hears what the last one said.
    if (rolled.kind !== "reserved") break;
    step = nextStep;
    reserve = nextReserve;
  }
  const debited = microUsd(ended.reduce((sum, each) => sum + each.debitMicroUsd, 0n));
  hold.release(tokensOf(ended, request));
  deps.metrics.settled(request.modelId, debited);
  deliver(exchange, { delivery, ended, request, debited, served });
}

/** Dispatches one step to its end; only what was sent counts in health and metrics. */
async function attemptOnce<R extends CallRequest>(
  deps: ServeDeps,
  exchange: ClientExchange,
  start: AttemptStart<R>,
): Promise<AttemptResult> {
  const { deployment } = start.step;
  const result = await startAttempt(deps, exchange, start).ended;
  const outcome = result.failure === undefined ? "success" : result.failure.strike;
  deps.health.report(deployment.id, outcome, deps.clock.monotonicMs());
  deps.metrics.attempt(deployment, result);
  return result;
}

function tokensOf(ended: readonly EndedAttempt[], request: CallRequest): TokenCount {
  const estimate = tokenCount(request.estimatedInputTokens, request.outputTokens);
  return ended.reduce(
    (sum, { settlement, result }) => {
      const seen = observedTokens(settlement, result.failure === undefined, estimate);
      const prompt = sum.promptTokens + seen.promptTokens;
      return tokenCount(prompt, sum.completionTokens + seen.completionTokens);
    },
    tokenCount(0, 0),
  );
}

interface Ending {
  readonly delivery: Delivery;
  readonly ended: readonly EndedAttempt[];
  readonly request: CallRequest;
  readonly debited: MicroUsd;
  readonly served: () => ServedHeaders;
}

/** The last bytes: they leave after the settlement, so that no cost is told that could change. */
function deliver(exchange: ClientExchange, ending: Ending): void {
  const { delivery, ended, request, debited } = ending;
  const last = ended.at(-1);
  assert(last !== undefined, "an admitted call has at least one attempt");
  const { bridge, failure, committed } = last.result;
  const cost = usdJsonNumber(debited);
  delivery.stop();
  if (exchange.gone) return;
  if (failure === undefined) {
    assert(bridge !== undefined, "a complete answer was carried by a bridge");
    delivery.finish(request.stream, bridge.finish(cost));
  } else if (committed && bridge !== undefined) {
    exchange.end(bridge.fail(failure.refusal, cost));
  } else {
    const { attempts = 1, droppedParams = [] } = ending.served();
    exchange.refuse(refusalOf(ended) ?? failure.refusal, { attempts, droppedParams });
  }
}

/** A throttled candidate says less than a failed one: the last failure that is no rate limit. */
function refusalOf(ended: readonly EndedAttempt[]): Refusal | undefined {
  const refusals = ended.flatMap(({ result }) => result.failure?.refusal ?? []);
  return refusals.findLast((each) => each.class !== "rate_limit") ?? refusals.at(-1);
}

/** Encodes candidate after candidate, as they are needed; content that cannot cross is skipped. */
function* encodedSteps<R extends CallRequest>(
  plan: RoutePlan,
  request: R,
  kind: CallKind<R>,
): Generator<Step, Refusal | undefined> {
  let refused: Refusal | undefined;
  const others = plan.others();
  let deployment: Deployment | undefined = plan.first;
  while (deployment !== undefined) {
    const upstream = kind.encode(request, deployment);
    if (isRefusal(upstream)) refused ??= upstream;
    else yield { deployment, upstream };
    const next = others.next();
    deployment = next.done === true ? undefined : next.value;
  }
  return refused;
}

interface ReserveInput<R extends CallRequest> {
  readonly request: R;
  readonly kind: CallKind<R>;
  readonly step: Step;
  readonly ordinal: number;
}

function reserveRow<R extends CallRequest>(
  deps: ServeDeps,
  exchange: ClientExchange,
  input: ReserveInput<R>,
): ReserveRow {
  const { request, kind, step, ordinal } = input;
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
    estimatedTokens: request.estimatedInputTokens + request.outputTokens,
    reserveMicroUsd: kind.quote(request, deployment.prices),
  };
}

/** Refuses before any dispatch: the id stays known, nothing is owed. */
export function refuseCall(
  deps: ServeDeps,
  exchange: ClientExchange,
  input: { readonly refusal: Refusal; readonly request?: CallRequest },
): void {
  const { principal } = exchange;
  deps.ledger.recordRefused({
    requestId: exchange.requestId,
    orgId: principal.orgId,
    keyId: principal.keyId,
    modelId: input.request?.modelId ?? null,
    route: exchange.route,
    stream: input.request?.stream ?? false,
    errorClass: input.refusal.class,
    createdAtMs: deps.clock.nowMs(),
  });
  const droppedParams = input.request?.droppedParams ?? [];
  exchange.refuse(input.refusal, droppedParams.length === 0 ? {} : { droppedParams });
}

/** The client left while its request waited for admission: the hold is void, nothing was sent. */
function neverSent(): AttemptResult {
  return {
    bridge: undefined,
    failure: {
      refusal: refusal("gateway_error", "the client left before anything was sent"),
      failover: false,
      strike: "neutral",
    },
    timedOut: false,
    committed: false,
    upstreamStatus: null,
    firstByteMs: null,
    durationMs: 0,
  };
}

function nothingEncodes(): Refusal {
  return refusal("gateway_error", "no candidate could be encoded; report it with the request id");
}
