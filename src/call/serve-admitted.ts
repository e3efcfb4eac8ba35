import { createHash } from "node:crypto";

import type { Deployment } from "../catalog/catalog.ts";
import { assert } from "../core/assert.ts";
import { microUsd, usdJsonNumber, ZERO_MICRO_USD, type MicroUsd } from "../core/money.ts";
import type { Refusal } from "../core/refusals.ts";
import type { AttemptResult } from "../dispatch/run-attempt.ts";
import type { ReserveRow } from "../ledger/ledger-store.ts";
import { tokenCount, type TokenCount } from "../limits/limit-store.ts";
import { debitOf } from "../pricing/quote.ts";
import type { HealthOutcome } from "../routing/circuit.ts";
import type { CallHold } from "./call-hold.ts";
import type { Output } from "../wire/answer/answer-bridge.ts";
import { familyOf, type CallKind, type CallRequest, type Step } from "./call-kind.ts";
import type { CallSteps } from "./call-steps.ts";
import type { ClientExchange, ServedHeaders } from "./client-exchange.ts";
import { Delivery } from "./delivery.ts";
import { findRoom, leaveCircuit, type Room } from "./find-room.ts";
import type { MarketplaceClaim } from "./marketplace-claim.ts";
import { clientLeft } from "./refuse-call.ts";
import { reserveRow } from "./reserve-row.ts";
import type { ServeDeps } from "./serve-deps.ts";
import { closeRowOf, observedTokens, settlementOf, type Settlement } from "./settlement.ts";
import { startAttempt, type AttemptStart } from "./start-attempt.ts";

/** A call that has claimed its own limits. */
export interface ClaimedCall<R extends CallRequest> {
  readonly kind: CallKind<R>;
  readonly request: R;
  readonly steps: CallSteps;
  /** The estimate. */
  readonly tokens: TokenCount;
  readonly hold: CallHold;
  /** What it is admitted by once a key of the marketplace's is to serve it. */
  readonly marketplace: MarketplaceClaim | undefined;
  /** How long it had to wait for its turn. */
  readonly queueMs: number;
  readonly remainingRequests: number;
  readonly remainingTokens: number;
}

/** A call whose first attempt is held in the journal. */
export interface AdmittedCall<R extends CallRequest> extends ClaimedCall<R> {
  readonly room: Room;
  readonly reserve: ReserveRow;
  /** Monotonic time after which no other candidate is tried. */
  readonly lastStartMs: number;
}

/** One physical dispatch, ended and closed. */
interface EndedAttempt {
  readonly result: AttemptResult;
  readonly settlement: Settlement;
  readonly debitMicroUsd: MicroUsd;
  readonly tokens: TokenCount;
}

/** Attempts one candidate after the other until one serves; closes every attempt exactly once. */
export async function serveAdmitted<R extends CallRequest>(
  deps: ServeDeps,
  exchange: ClientExchange,
  call: AdmittedCall<R>,
): Promise<void> {
  const { kind, request, steps, hold, tokens, marketplace, lastStartMs } = call;
  const { principal } = exchange;
  let { reserve, room } = call;
  const ended: EndedAttempt[] = [];
  const served = (): ServedHeaders => servedHeaders(call, room, reserve.ordinal);
  const { clock, deadlines, timeouts } = deps;
  const delivery = new Delivery({ exchange, clock, deadlines, timeouts, headers: served });

  for (;;) {
    const startedAtMs = clock.nowMs();
    const { attemptId } = reserve;
    const { step } = room;
    const start = { kind, request, step, delivery, reserve, scopes: hold.scopes };
    const ran = await attemptOnce(deps, exchange, { room, start });
    const { result, body } = await acceptJob(kind, ran, { reserve, step, startedAtMs });
    if (body !== undefined) {
      // The job goes on, and so does its hold; the request itself has ended.
      hold.keepOpen();
      hold.release(tokens);
      noteUsage(deps, exchange, { kind, debited: ZERO_MICRO_USD, ended });
      return delivery.finish(false, body);
    }
    const settlement = settle(deps, result, { step, reserve });
    const seen = observedTokens(settlement, result.failure === undefined, tokens);
    const mayGoOn =
      result.failure?.failover === true &&
      !hasBegun(result) &&
      !exchange.gone &&
      clock.monotonicMs() < lastStartMs;
    hold.leavePool(seen);
    const wanted = { principal, tokens, steps, marketplace };
    const next = mayGoOn ? await findRoom(deps, wanted) : undefined;
    const close = closeRowOf({
      attemptId,
      result,
      settlement,
      startedAtMs,
      clientGone: exchange.gone,
      final: next?.kind !== "room",
    });
    const known = debitOf(settlement.costPicoUsd, reserve.reserveMicroUsd);
    if (next?.kind !== "room") {
      const closed = await hold.close(close);
      const debitMicroUsd = closed.kind === "pending" ? known : closed.debitMicroUsd;
      ended.push({ result, settlement, debitMicroUsd, tokens: seen });
      break;
    }
    ended.push({ result, settlement, debitMicroUsd: known, tokens: seen });
    const ordinal = reserve.ordinal + 1;
    const nextReserve = reserveRow(deps, exchange, { ...call, step: next.step, ordinal });
    const rolled = await hold.roll(close, nextReserve, next.pool);
    // Without money for the next candidate the caller hears what the last one said.
    if (rolled.kind !== "reserved") {
      leaveCircuit(deps, next);
      break;
    }
    room = next;
    reserve = nextReserve;
  }
  const debited = microUsd(ended.reduce((sum, each) => sum + each.debitMicroUsd, 0n));
  hold.release(sumTokens(ended));
  deps.metrics.settled(request.modelId, debited);
  noteUsage(deps, exchange, { kind, debited, ended });
  deliver(exchange, { delivery, ended, request, debited, served });
}

interface RanJob {
  readonly result: AttemptResult;
  /** Set when a job was accepted and is durable: what the client is told. */
  readonly body?: Output;
}

/** Makes an accepted job durable, for the kinds of calls that have jobs. */
async function acceptJob<R extends CallRequest>(
  kind: CallKind<R>,
  result: AttemptResult,
  ran: { readonly reserve: ReserveRow; readonly step: Step; readonly startedAtMs: number },
): Promise<RanJob> {
  const { bridge, failure } = result;
  if (kind.accept === undefined || failure !== undefined || bridge === undefined) return { result };
  const { reserve, startedAtMs } = ran;
  const { deployment } = ran.step;
  const body = await kind.accept({ bridge, reserve, deployment, startedAtMs });
  if (typeof body === "string" || Buffer.isBuffer(body)) return { result, body };
  return { result: { ...result, failure: { refusal: body, failover: false, strike: "neutral" } } };
}

/** What the attempt owes; a report that was not believed is counted. */
function settle(
  { metrics }: ServeDeps,
  result: AttemptResult,
  { step, reserve }: { readonly step: Step; readonly reserve: ReserveRow },
): Settlement {
  const settlement = settlementOf(result, step.deployment, reserve.reserveMicroUsd);
  if (settlement.flag !== undefined) metrics.impossible(step.deployment);
  return settlement;
}

function servedHeaders<R extends CallRequest>(
  call: ClaimedCall<R>,
  { step, pool }: Room,
  attempts: number,
): ServedHeaders {
  const { request, queueMs } = call;
  return {
    provider: step.deployment.providerId,
    attempts,
    ...remaining(
      Math.min(call.remainingRequests, pool?.remainingRequests ?? Number.MAX_SAFE_INTEGER),
      Math.min(call.remainingTokens, pool?.remainingTokens ?? Number.MAX_SAFE_INTEGER),
    ),
    ...(queueMs > 0 ? { queueMs } : {}),
    droppedParams: [...request.droppedParams, ...step.upstream.droppedParams],
  };
}

/** What is left where something limits it. */
function remaining(remainingRequests: number, remainingTokens: number): ServedHeaders {
  return {
    ...(remainingRequests === Number.MAX_SAFE_INTEGER ? {} : { remainingRequests }),
    ...(remainingTokens === Number.MAX_SAFE_INTEGER ? {} : { remainingTokens }),
  };
}

/** Dispatches one step to its end; only what was sent counts in health, pools and metrics. */
async function attemptOnce<R extends CallRequest>(
  deps: ServeDeps,
  exchange: ClientExchange,
  { room, start }: { readonly room: Room; readonly start: AttemptStart<R> },
): Promise<AttemptResult> {
  const { deployment } = start.step;
  if (exchange.gone) {
    leaveCircuit(deps, room);
    return neverSent();
  }
  const result = await startAttempt(deps, exchange, start).ended;
  const { failure } = result;
  const nowMs = deps.clock.monotonicMs();
  const outcome = healthOutcome(deps, exchange, { deployment, failure });
  deps.health.report(deployment.id, outcome, nowMs, room.probedMs);
  if (failure?.coolSeconds !== undefined) {
    deps.pools.throttled(deployment.pool, failure.coolSeconds, nowMs);
  }
  deps.metrics.attempt(deployment, result);
  return result;
}

/**
 * Repeats of one failed request are one strike: a client that resends what a provider cannot
 * process does not open the circuit for other callers. A probe of an open circuit always counts.
 */
function healthOutcome(
  { health, repeats, clock }: ServeDeps,
  { principal, body }: ClientExchange,
  attempt: Pick<AttemptResult, "failure"> & { readonly deployment: Deployment },
): HealthOutcome {
  const { deployment, failure } = attempt;
  if (failure === undefined) return "success";
  const { strike } = failure;
  const nowMs = clock.monotonicMs();
  const isProbe = health.mayTry(deployment.id, nowMs) !== "yes";
  if ((strike !== "strike" && strike !== "timeout") || isProbe) return strike;
  const digest = createHash("sha256").update(body).digest("base64");
  const request = { deploymentId: deployment.id, orgId: principal.orgId, digest };
  return repeats.isRepeat(request, nowMs) ? "neutral" : strike;
}

function sumTokens(ended: readonly EndedAttempt[]): TokenCount {
  return ended.reduce(
    (sum, { tokens }) =>
      tokenCount(
        sum.promptTokens + tokens.promptTokens,
        sum.completionTokens + tokens.completionTokens,
      ),
    tokenCount(0, 0),
  );
}

function noteUsage<R extends CallRequest>(
  deps: ServeDeps,
  exchange: ClientExchange,
  call: { kind: CallKind<R>; debited: MicroUsd; ended: readonly EndedAttempt[] },
): void {
  const { principal, clientAddress } = exchange;
  const family = familyOf(call.kind);
  const outcome = isCallersDoing(exchange, call.ended) ? "failed" : "served";
  deps.usage.note(
    { principal, family, clientAddress, outcome, debitMicroUsd: call.debited },
    deps.clock.nowMs(),
  );
}

/** A provider that is down, slow or throttled says nothing about who asked it. */
function isCallersDoing({ gone }: ClientExchange, ended: readonly EndedAttempt[]): boolean {
  const failure = ended.at(-1)?.result.failure;
  return failure?.strike === "neutral" && !failure.failover && !gone;
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
  const { bridge, failure } = last.result;
  const cost = usdJsonNumber(debited);
  delivery.stop();
  if (exchange.gone) return;
  if (failure === undefined) {
    assert(bridge !== undefined, "a complete answer was carried by a bridge");
    delivery.finish(request.stream, bridge.finish(cost));
  } else if (hasBegun(last.result) && bridge !== undefined) {
    exchange.end(bridge.fail(failure.refusal, cost));
  } else {
    const { attempts = 1, droppedParams = [] } = ending.served();
    exchange.refuse(refusalOf(ended) ?? failure.refusal, { attempts, droppedParams });
  }
}

/** Is the 200 on its way to the client? Then there is one provider, and an error is an event. */
function hasBegun({ committed, begun }: AttemptResult): boolean {
  return committed || begun;
}

/** A throttled candidate says less than a failed one: the last failure that is no rate limit. */
function refusalOf(ended: readonly EndedAttempt[]): Refusal | undefined {
  const refusals = ended.flatMap(({ result }) => result.failure?.refusal ?? []);
  return refusals.findLast((each) => each.class !== "rate_limit") ?? refusals.at(-1);
}

/** The client left while its request waited for admission: the hold is void, nothing was sent. */
function neverSent(): AttemptResult {
  return {
    bridge: undefined,
    failure: { refusal: clientLeft(), failover: false, strike: "neutral" },
    timedOut: false,
    committed: false,
    begun: false,
    upstreamStatus: null,
    firstByteMs: null,
    durationMs: 0,
  };
}
