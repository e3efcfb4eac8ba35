import {
  microUsd,
  type Refusal,
  refused,
  type Refused,
  type Result,
  ZERO_MICRO_USD,
} from "../../kernel/index.ts";
import { planRoute } from "../routing/plan-route.ts";
import type { CallRequest } from "../../formats/index.ts";
import { reserveRefusal } from "./admit.ts";
import { attemptToHold, closeRow } from "./attempt-rows.ts";
import { attemptCandidate } from "./attempt.ts";
import type { Principal } from "../accounts/principal.ts";
import type { ReserveOutcome } from "../../ledger/index.ts";
import { CallHold } from "./call-hold.ts";
import { callTokens, familyOf, type CallKind } from "./call-kind.ts";
import type { AcceptedCall, EndedAttempt, HeldAttempt } from "./call-values.ts";
import { acquireCandidate, CandidateList, leaveCircuit, releaseCandidate } from "./candidates.ts";
import { claimLimits } from "./claim-limits.ts";
import type { ClientExchange, ServedHeaders } from "./client-exchange.ts";
import { answerClient, Delivery, servedHeaders } from "./deliver.ts";
import { marketplaceClaim } from "./marketplace-claim.ts";
import { noteUse } from "./note-use.ts";
import { waitForPacing } from "./pacing.ts";
import { callPlanInput, conversationOf, findModel } from "./plan-call.ts";
import type { CallPorts } from "./ports.ts";
import { outputWithin } from "./quote-call.ts";
import { refuseCall, routingDeadlinePassed } from "./refuse-call.ts";
import { sumTokens } from "./settlement.ts";

/**
 * The way of every call, whatever its modality and wire and whether it streams: accept, claim,
 * hold, attempt until one candidate has served, settle, answer. Rejects only with a fault of our
 * own; what was claimed and held is released by then.
 */
export async function serveCall<R extends CallRequest>(
  ports: CallPorts,
  client: ClientExchange,
  kind: CallKind<R>,
): Promise<void> {
  const family = familyOf(kind);
  const accepted = acceptCall(ports, client, kind);
  if (!accepted.ok) return refuseCall(ports, client, { ...accepted, family });
  const { call } = accepted;
  const { request, trace } = call;
  trace?.asked({ request, wire: kind.wire });
  trace?.claiming();
  const claiming = await claimLimits(ports, client.principal, call);
  trace?.claimed(claiming.ok ? undefined : claiming.refusal);
  if (!claiming.ok) return refuseCall(ports, client, { ...claiming, family, request });
  const { claimed: limits } = claiming;
  const hold = new CallHold(ports, limits);
  try {
    const lastStartMs = ports.clock.monotonicMs() + call.timeoutMs;
    const { queueMs } = limits;
    const paced = await waitForPacing(ports, client, { queueMs, timeoutMs: call.timeoutMs });
    if (queueMs > 0) trace?.queued();
    const claimedCall = { call, hold, lastStartMs };
    const first = paced.ok ? await holdFirst(ports, client, claimedCall) : paced;
    if (first.ok) ports.refusals.leave(client.principal, client);
    if (first.ok) return await attemptUntilServed(ports, client, { ...claimedCall, first });
    hold.undo();
    refuseCall(ports, client, { ...first, family, request });
  } catch (fault) {
    hold.giveUp();
    throw fault;
  }
}

type AcceptOutcome<R extends CallRequest> =
  { readonly ok: true; readonly call: AcceptedCall<R> } | (Refused & { readonly request?: R });

/** Reads and plans: everything that can refuse a request before anything is claimed for it. */
function acceptCall<R extends CallRequest>(
  ports: CallPorts,
  client: ClientExchange,
  kind: CallKind<R>,
): AcceptOutcome<R> {
  const { principal } = client;
  const unusual = ports.usage.refuse(principal, familyOf(kind), ports.clock.nowMs());
  if (unusual !== undefined) return refused(unusual);
  const read = kind.read(client);
  if (!read.ok) return read;
  const { request } = read;
  const { modelId } = request;
  const { model, endpoint } = findModel(ports.catalog.current, principal, modelId);
  const conversation = conversationOf(principal, request, model);
  const plan = planRoute(callPlanInput(ports, principal, { kind, request, model, conversation }));
  if (plan.kind === "refused") return { ...refused(plan.refusal), request };
  const candidates = new CandidateList(plan, (deployment) => kind.encode(request, deployment));
  if (!candidates.hasNext() && candidates.unencoded !== undefined) {
    return { ...refused(candidates.unencoded), request };
  }
  const limited = { modelId, endpoint, ownKeys: plan.ownKeys };
  const marketplace = marketplaceClaim(ports, principal, limited);
  const tokens = callTokens(kind, request, { model, body: client.body });
  const timeoutMs = Math.min(
    ports.timeouts.routingMs,
    principal.rules.policy?.timeoutMs ?? Infinity,
  );
  const { trace } = client;
  const asked = { kind, request, candidates, conversation };
  return { ok: true, call: { ...asked, tokens, limited, marketplace, timeoutMs, trace } };
}

/** What would refuse this request now; undefined: nothing. `looking`: read-only ports. */
export async function previewCall<R extends CallRequest>(
  looking: CallPorts,
  client: ClientExchange,
  kind: CallKind<R>,
): Promise<Refusal | undefined> {
  const accepted = acceptCall(looking, client, kind);
  if (!accepted.ok) return accepted.refusal;
  const call = { ...accepted.call, trace: undefined };
  const claiming = await claimLimits(looking, client.principal, call);
  if (!claiming.ok) return claiming.refusal;
  const { claimed: limits } = claiming;
  if (limits.queueMs > call.timeoutMs) return routingDeadlinePassed(call.timeoutMs);
  const hold = new CallHold(looking, limits);
  const first = await holdFirst(looking, client, { call, hold, lastStartMs: Infinity });
  return first.ok ? undefined : first.refusal;
}

interface ClaimedCall<R extends CallRequest> {
  readonly call: AcceptedCall<R>;
  readonly hold: CallHold;
  /** Monotonic time after which no other candidate is tried. */
  readonly lastStartMs: number;
}

/** Holds the worst case at the first candidate with capacity; a refusal means nothing was sent. */
async function holdFirst<R extends CallRequest>(
  ports: CallPorts,
  client: ClientExchange,
  { call, hold, lastStartMs }: ClaimedCall<R>,
): Promise<Result<HeldAttempt>> {
  const { principal } = client;
  const found = await acquireCandidate(ports, principal, call);
  if (!found.ok) return found;
  const { candidate } = found;
  const nowMs = ports.clock.monotonicMs();
  if (nowMs > lastStartMs) {
    releaseCandidate(ports, candidate);
    return refused(routingDeadlinePassed(call.timeoutMs));
  }
  const toHold = attemptToHold(ports, client, { call, candidate, ordinal: 1, nowMs });
  const held = await hold.reserve(toHold.reserve, candidate.pool);
  const refusal = refusalOfHold(held, toHold, { call, principal });
  toHold.trace?.reserved(refusal);
  if (refusal === undefined) return toHold;
  leaveCircuit(ports, candidate);
  return refused(refusal);
}

function refusalOfHold<R extends CallRequest>(
  held: ReserveOutcome,
  { reserve, candidate }: HeldAttempt,
  of: { readonly call: AcceptedCall<R>; readonly principal: Principal },
): Refusal | undefined {
  if (held.kind === "reserved") return undefined;
  const { kind, request } = of.call;
  return reserveRefusal(held, of.principal, {
    needed: reserve.reserveMicroUsd,
    outputWithin: (micros) => outputWithin(kind, request, candidate.step.deployment, micros),
  });
}

/** Made once for each attempt: the answer has these headers, and the row of its attempt. */
function servedOnce(
  request: CallRequest,
  now: () => Parameters<typeof servedHeaders>[1],
): () => ServedHeaders {
  let made: { readonly of: HeldAttempt; readonly headers: ServedHeaders } | undefined;
  return () => {
    const at = now();
    if (made?.of !== at.held) made = { of: at.held, headers: servedHeaders(request, at) };
    return made.headers;
  };
}

/** Attempts one candidate after the other until one serves; closes every attempt exactly once. */
async function attemptUntilServed<R extends CallRequest>(
  ports: CallPorts,
  client: ClientExchange,
  claimed: ClaimedCall<R> & { readonly first: HeldAttempt },
): Promise<void> {
  const { call, hold, first, lastStartMs } = claimed;
  let held = first;
  const ended: EndedAttempt[] = [];
  const served = servedOnce(call.request, () => ({ limits: hold.limits, held }));
  const delivery = new Delivery(ports, client, served);
  for (;;) {
    const end = await attemptCandidate(ports, client, { call, held, delivery, hold });
    if (end.kind === "job") {
      noteUse(ports, client, { kind: call.kind, ended, debited: ZERO_MICRO_USD });
      return delivery.finish(false, end.body);
    }
    const mayFailOver =
      end.result.failure?.failover === true &&
      !delivery.committed &&
      !client.gone &&
      ports.clock.monotonicMs() < lastStartMs;
    hold.leavePool(end.tokens);
    const next = mayFailOver ? await acquireCandidate(ports, client.principal, call) : undefined;
    const isFinal = next?.ok !== true;
    const { trace } = held;
    const lane = trace?.settleLane;
    const close = closeRow(end, { client, final: isFinal, headers: served(), lane });
    if (isFinal) {
      const closed = await hold.close(close);
      const { debitMicroUsd } = closed.kind === "pending" ? end : closed;
      trace?.settled(debitMicroUsd);
      ended.push({ ...end, debitMicroUsd });
      break;
    }
    ended.push(end);
    const { candidate } = next;
    const { failure } = end.result;
    if (failure !== undefined) {
      ports.metrics.failedOver(held.candidate.step.deployment, failure.refusal.class);
    }
    const ordinal = ended.length + 1;
    const nowMs = ports.clock.monotonicMs();
    const toHold = attemptToHold(ports, client, { call, candidate, ordinal, nowMs });
    const rolled = await hold.roll(close, toHold.reserve, candidate.pool);
    trace?.settled(end.debitMicroUsd);
    toHold.trace?.reserved(refusalOfHold(rolled, toHold, { call, principal: client.principal }));
    // Without money for the next candidate the caller gets the error of the last one.
    if (rolled.kind !== "reserved") {
      leaveCircuit(ports, candidate);
      break;
    }
    held = toHold;
  }
  hold.release(sumTokens(ended));
  const debited = microUsd(ended.reduce((sum, each) => sum + each.debitMicroUsd, 0n));
  call.trace?.debited(debited);
  ports.metrics.settled(call.request.modelId, debited);
  noteUse(ports, client, { kind: call.kind, ended, debited });
  client.settled?.(debited);
  answerClient(client, { delivery, ended, stream: call.request.stream, debited, served });
}
