import { createHash } from "node:crypto";

import { computeDebit, type Deployment } from "../../catalog/index.ts";
import {
  type AnswerBridge,
  type AskedBound,
  boundFor,
  type CallFamily,
  type CallRequest,
  type Output,
} from "../../formats/index.ts";
import { outputTokensTotal } from "../../kernel/index.ts";
import {
  type AttemptClassifier,
  type AttemptResult,
  ownKeyFailure,
  runAttempt,
  type RunningAttempt,
  streamBytesMax,
} from "../../upstream/index.ts";
import type { HealthOutcome } from "../routing/health.ts";
import { BREACH, type Breaches } from "../verification/conduct.ts";
import type { AcceptedJob, CallKind } from "./call-kind.ts";
import { leaveCircuit } from "./candidates.ts";
import type { ClientExchange } from "./client-exchange.ts";
import type { Delivery, EndedCall } from "./deliver.ts";
import type { AcceptedCall, CallHold, EndedAttempt, HeldAttempt } from "./hold.ts";
import type { CallPorts } from "./ports.ts";
import { CLIENT_HAS_LEFT } from "./refuse.ts";
import { observedTokens, computeSettlement, lacksUsage } from "./settle.ts";

export type AttemptEnd =
  | EndedAttempt
  /** The provider accepted a job that continues after the call; `body` is the client's answer. */
  | { readonly kind: "job"; readonly body: Output };

export interface CandidateAttempt<R extends CallRequest> {
  readonly call: AcceptedCall<R>;
  readonly held: HeldAttempt;
  readonly delivery: Delivery;
  readonly hold: CallHold;
}

/** Sends an attempt whose reserve is held, and computes its settlement. The caller closes it. */
export async function attemptCandidate<R extends CallRequest>(
  ports: CallPorts,
  client: ClientExchange,
  input: CandidateAttempt<R>,
): Promise<AttemptEnd> {
  const { call, held, hold } = input;
  const { reserve } = held;
  const { deployment } = held.candidate.step;
  const startedAtMs = ports.clock.nowMs();
  const ran = await dispatch(ports, client, input);
  const noted = { deployment, orgId: client.principal.orgId, request: call.request };
  const { accept } = call.kind;
  const job = accept && (await acceptJob(accept, ran, { reserve, deployment, startedAtMs }));
  if (job?.ok === true) {
    // The job outlives the request: its attempt stays open, and the request's limits are released.
    hold.keepOpen();
    hold.release(call.tokens);
    noteConduct(ports, { ...noted, result: ran, isImpossible: false });
    return { kind: "job", body: job.body };
  }
  const result = job?.result ?? ran;
  const { asksHourWrites } = held.candidate.step.upstream;
  const { reserveMicroUsd } = reserve;
  const settlement = computeSettlement(result, deployment, { reserveMicroUsd, asksHourWrites });
  ports.metrics.attemptSettled(deployment, { result, settlement, reserveMicroUsd });
  noteConduct(ports, { ...noted, result, isImpossible: settlement.flag !== undefined });
  const end: EndedAttempt = {
    kind: "ended",
    attemptId: reserve.attemptId,
    startedAtMs,
    result,
    settlement,
    debitMicroUsd: computeDebit(settlement.costPicoUsd, reserve.reserveMicroUsd),
    tokens: observedTokens(settlement, result.failure === undefined, call.tokens),
  };
  held.trace?.observed(end);
  return end;
}

/** Sends the attempt unless the client left. Health, pools and metrics count only sent attempts. */
async function dispatch<R extends CallRequest>(
  ports: CallPorts,
  client: ClientExchange,
  input: CandidateAttempt<R>,
): Promise<AttemptResult> {
  const { candidate, reserve } = input.held;
  const { deployment } = candidate.step;
  if (client.gone) {
    leaveCircuit(ports, candidate);
    return NEVER_SENT;
  }
  if (reserve.ordinal === 1) {
    const ownMs = ports.clock.monotonicMs() - client.ownTimeFromMs - input.hold.limits.queueMs;
    ports.metrics.dispatched(client.route, ownMs);
  }
  const ran = await startAttempt(ports, client, input).ended;
  const failure = ran.failure && ownKeyFailure(ran.failure, deployment);
  const result = { ...ran, failure };
  if (failure?.reason !== undefined) client.unreached?.(deployment.providerId, failure.reason);
  const nowMs = ports.clock.monotonicMs();
  input.held.trace?.ended(nowMs);
  const outcome = healthOutcome(ports, client, deployment, failure);
  ports.health.report(deployment.id, outcome, nowMs, candidate.probedMs);
  if (failure?.coolSeconds !== undefined) {
    ports.pools.throttled(deployment.pool, failure.coolSeconds, nowMs);
  }
  const { conversation } = input.call;
  if (failure === undefined && conversation !== undefined) {
    ports.affinity.set(conversation, deployment.id, nowMs);
  }
  ports.metrics.attempt(deployment, result);
  return result;
}

/**
 * Returns the outcome for the deployment's circuit. If a client resends a failed request within a
 * minute, only the first failure counts, so that a request that the provider cannot process does
 * not open the circuit for other clients. A failed probe always counts.
 */
function healthOutcome(
  { health, repeats, clock }: CallPorts,
  { principal, body }: ClientExchange,
  deployment: Deployment,
  failure: AttemptResult["failure"],
): HealthOutcome {
  if (failure === undefined) return "success";
  const { strike } = failure;
  const nowMs = clock.monotonicMs();
  const isProbe = health.mayTry(deployment.id, nowMs) !== "yes";
  if ((strike !== "strike" && strike !== "timeout") || isProbe) return strike;
  const digest = createHash("sha256").update(body).digest("base64");
  const request = { deploymentId: deployment.id, orgId: principal.orgId, digest };
  return repeats.isRepeat(request, nowMs) ? "neutral" : strike;
}

/** Stores a job that the provider accepted. If storing fails, the attempt counts as failed. */
async function acceptJob(
  accept: NonNullable<CallKind<CallRequest>["accept"]>,
  result: AttemptResult,
  ran: Omit<AcceptedJob, "bridge">,
): Promise<
  | { readonly ok: true; readonly body: Output }
  | { readonly ok: false; readonly result: AttemptResult }
> {
  const { bridge, failure } = result;
  if (failure !== undefined || bridge === undefined) return { ok: false, result };
  const accepted = await accept({ ...ran, bridge });
  if (accepted.ok) return accepted;
  const { refusal } = accepted;
  const unwritten = { refusal, failover: false, strike: "neutral", isByGateway: true } as const;
  return { ok: false, result: { ...result, failure: unwritten } };
}

function startAttempt<R extends CallRequest>(
  ports: CallPorts,
  client: ClientExchange,
  { call, held, delivery, hold }: CandidateAttempt<R>,
): RunningAttempt {
  const { kind, request } = call;
  const { classify } = kind;
  const { attemptId, reserveMicroUsd } = held.reserve;
  const { deployment, upstream } = held.candidate.step;
  const timeouts = ports.timeouts[kind.timeouts ?? (request.stream ? "stream" : "whole")];
  const sent = { attemptId, traceparent: held.trace?.sent() };
  const classifier: AttemptClassifier =
    classify === undefined
      ? ports.classify
      : {
          ...ports.classify,
          answer: (failed) => classify(failed, deployment, ports.clock.nowMs()),
        };
  const running = runAttempt({
    clock: ports.clock,
    deadlines: ports.deadlines,
    timeouts,
    stream: request.stream,
    streamBytesMax: streamBytesMax(request),
    sink: delivery,
    commitDueMs: delivery.commitDueMs,
    openBridge: () =>
      delivery.carry(
        kind.openAnswer(request, deployment, {
          requestId: client.requestId,
          createdSeconds: Math.floor(ports.clock.nowMs() / 1000),
          reserveMicroUsd,
        }),
      ),
    classify: classifier,
    send: (handler) => ports.upstream.send(deployment, upstream, handler, sent),
  });
  client.onWritable(() => {
    delivery.becameWritable();
    running.resume();
  });
  client.onGone(() => {
    if (!ports.drains.hasCapacity) {
      running.abandon();
      return;
    }
    const { orgId } = client.principal;
    const endsAtMs = ports.clock.monotonicMs() + timeouts.drainMs;
    const departed = { orgId, scopes: hold.limits.depart(), endsAtMs };
    ports.drains.enter(departed);
    running.detach();
    void running.ended.then(() => ports.drains.leave(departed));
  });
  return running;
}

/** The result of an attempt whose client left before it was sent. Nothing is charged. */
const NEVER_SENT: AttemptResult = {
  bridge: undefined,
  failure: { refusal: CLIENT_HAS_LEFT, failover: false, strike: "neutral" },
  timedOut: false,
  hasOutput: false,
  upstreamStatus: null,
  firstByteMs: null,
  firstOutputMs: null,
  durationMs: 0,
};

export interface NotedAnswer {
  readonly deployment: Deployment;
  readonly orgId: string;
  readonly request: AskedBound;
  readonly result: AttemptResult;
  readonly isImpossible: boolean;
}

/**
 * Records which promises of its listing a provider broke with this answer. Skips answers for which
 * the provider may not be at fault: those that timed out, are not 2xx, failed without being
 * malformed, or were made with a customer's own provider key.
 */
export function noteConduct({ standing }: Pick<CallPorts, "standing">, noted: NotedAnswer): void {
  const { deployment, orgId, result } = noted;
  const { bridge, failure, upstreamStatus, timedOut } = result;
  if (upstreamStatus === null || upstreamStatus >= 300 || timedOut) return;
  // With a customer's own key, the provider may serve other models than the listing names.
  if (deployment.ownKey !== undefined) return;
  if (failure === undefined) {
    if (bridge !== undefined) standing.note(deployment, orgId, findBreaches(bridge, noted));
  } else if (failure.isMalformed === true) {
    standing.note(deployment, orgId, BREACH.unreadable | findSubstitution(bridge));
  }
}

function findBreaches(bridge: AnswerBridge, noted: NotedAnswer): Breaches {
  const { deployment, request, isImpossible } = noted;
  const { usage } = bridge;
  let breaches = findSubstitution(bridge);
  if (isImpossible || bridge.usageFlaw !== undefined) breaches |= BREACH.usageImpossible;
  if (lacksUsage(bridge, deployment)) breaches |= BREACH.usageMissing;
  if (deployment.modality !== "text") return breaches;
  if (bridge.hasWrongFinish) breaches |= BREACH.wrongFinish;
  if (usage !== undefined && outputTokensTotal(usage) > boundFor(request, deployment)) {
    breaches |= BREACH.boundExceeded;
  }
  return breaches;
}

function findSubstitution(bridge: AnswerBridge | undefined): Breaches {
  return bridge?.servedModel?.isSubstituted === true ? BREACH.substituted : 0;
}

export function noteUse(
  { usage, clock }: Pick<CallPorts, "usage" | "clock">,
  client: ClientExchange,
  family: CallFamily,
  { ended, debited }: Pick<EndedCall, "ended" | "debited">,
): void {
  const { principal, clientAddress, gone } = client;
  const failure = ended.at(-1)?.result.failure;
  // A provider that is down, slow or throttling is not the caller's fault, nor is a shutdown.
  const isCallers =
    failure?.strike === "neutral" && !failure.failover && failure.isByGateway !== true && !gone;
  const outcome = isCallers ? "failed" : "served";
  usage.note({ principal, family, clientAddress, outcome, debitMicroUsd: debited }, clock.nowMs());
}
