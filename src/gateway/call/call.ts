import type { CallRequest } from "../../formats/index.ts";
import { microUsd, type Refusal, refused, type Result } from "../../kernel/index.ts";
import type { ReserveOutcome } from "../../ledger/index.ts";
import { attemptCandidate, noteUse } from "./attempt.ts";
import type { CallKind } from "./call-kind.ts";
import { acquireCandidate, leaveCircuit } from "./candidates.ts";
import { claimLimits, waitForPacing } from "./claim.ts";
import type { ClientExchange } from "./client-exchange.ts";
import { answerClient, Delivery } from "./deliver.ts";
import {
  type AcceptedCall,
  attemptToHold,
  CallHold,
  closeRow,
  type EndedAttempt,
  type HeldAttempt,
} from "./hold.ts";
import { reserveRefusal } from "./limit-refusals.ts";
import { acceptCall, outputWithin } from "./plan.ts";
import type { CallPorts } from "./ports.ts";
import { refuseCall, routingDeadlinePassed } from "./refuse.ts";
import { sumTokens } from "./settle.ts";

/**
 * Serves one call of any modality and wire: accept, claim limits, hold money, try candidates until
 * one has served, settle, answer. Rejects only on an internal fault, after its hold has ended.
 */
export async function serveCall<R extends CallRequest>(
  ports: CallPorts,
  client: ClientExchange,
  kind: CallKind<R>,
): Promise<void> {
  const { family } = kind;
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

/**
 * Returns the refusal that this request would get now; undefined if it would be admitted. `looking`
 * must be ports that change nothing, such as those of `lookingPorts`.
 */
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
  /** Monotonic time after which no further candidate is tried. */
  readonly lastStartMs: number;
}

/** Acquires the first candidate with capacity and holds its worst-case cost. Sends nothing. */
async function holdFirst<R extends CallRequest>(
  ports: CallPorts,
  client: ClientExchange,
  { call, hold, lastStartMs }: ClaimedCall<R>,
): Promise<Result<HeldAttempt>> {
  const found = await acquireCandidate(ports, client.principal, call);
  if (!found.ok) return found;
  const { candidate } = found;
  hold.takePool(candidate.pool);
  if (ports.clock.monotonicMs() > lastStartMs) {
    leaveCircuit(ports, candidate);
    return refused(routingDeadlinePassed(call.timeoutMs));
  }
  const { limits } = hold;
  const toHold = attemptToHold(ports, client, { call, limits, candidate, ordinal: 1 });
  const held = await hold.reserve(toHold.reserve);
  const refusal = refuseHold(held, toHold, { call, client });
  toHold.trace?.reserved(refusal);
  if (refusal === undefined) return toHold;
  leaveCircuit(ports, candidate);
  return refused(refusal);
}

function refuseHold<R extends CallRequest>(
  held: ReserveOutcome,
  { reserve, candidate }: HeldAttempt,
  of: { readonly call: AcceptedCall<R>; readonly client: ClientExchange },
): Refusal | undefined {
  if (held.kind === "reserved") return undefined;
  const { kind, request } = of.call;
  return reserveRefusal(held, of.client.principal, {
    needed: reserve.reserveMicroUsd,
    outputWithin: (micros) => outputWithin(kind, request, candidate.step.deployment, micros),
  });
}

/**
 * Tries one candidate after another until one serves or no other may be tried. Closes each attempt
 * exactly once, except the attempt of an accepted job, which stays open.
 */
async function attemptUntilServed<R extends CallRequest>(
  ports: CallPorts,
  client: ClientExchange,
  claimed: ClaimedCall<R> & { readonly first: HeldAttempt },
): Promise<void> {
  const { call, hold, lastStartMs } = claimed;
  const { family } = call.kind;
  let held = claimed.first;
  const ended: EndedAttempt[] = [];
  const delivery = new Delivery(ports, client);
  for (;;) {
    delivery.headers = held.headers;
    const end = await attemptCandidate(ports, client, { call, held, delivery, hold });
    if (end.kind === "job") {
      // The job's cost is known when it ends, perhaps in another process: its hold counts as spend.
      noteUse(ports, client, family, { ended, debited: held.reserve.reserveMicroUsd });
      return delivery.finish(false, end.body);
    }
    const mayFailOver =
      end.result.failure?.failover === true &&
      !delivery.committed &&
      !client.gone &&
      ports.clock.monotonicMs() < lastStartMs;
    hold.leavePool(end.tokens);
    const next = mayFailOver ? await acquireCandidate(ports, client.principal, call) : undefined;
    if (next?.ok === true) hold.takePool(next.candidate.pool);
    const isFinal = next?.ok !== true;
    const { trace } = held;
    const close = closeRow(end, { client, final: isFinal, held });
    if (isFinal) {
      const closed = await hold.close(close);
      const { debitMicroUsd } = closed.kind === "pending" ? end : closed;
      trace?.settled(debitMicroUsd);
      ended.push({ ...end, debitMicroUsd });
      break;
    }
    ended.push(end);
    const { candidate } = next;
    const { limits } = hold;
    const ordinal = ended.length + 1;
    const toHold = attemptToHold(ports, client, { call, limits, candidate, ordinal });
    const rolled = await hold.roll(close, toHold.reserve);
    trace?.settled(end.debitMicroUsd);
    toHold.trace?.reserved(refuseHold(rolled, toHold, { call, client }));
    // If the ledger refuses this hold, the client gets the error of an earlier candidate.
    if (rolled.kind !== "reserved") {
      leaveCircuit(ports, candidate);
      break;
    }
    const cls = end.result.failure?.refusal.class;
    if (cls !== undefined) ports.metrics.failedOver(held.candidate.step.deployment, cls);
    held = toHold;
  }
  hold.release(sumTokens(ended));
  const debited = microUsd(ended.reduce((sum, each) => sum + each.debitMicroUsd, 0n));
  call.trace?.debited(debited);
  ports.metrics.settled(call.request.modelId, debited);
  noteUse(ports, client, family, { ended, debited });
  client.settled?.(debited);
  answerClient(client, { delivery, ended, stream: call.request.stream, debited });
}
