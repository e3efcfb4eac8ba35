import { claimScopes, reserveRefusal } from "./admit.ts";
import type { Refusal } from "../core/refusals.ts";
import { planRoute } from "../routing/plan-route.ts";
import { CallHold } from "./call-hold.ts";
import { callTokens, familyOf, isRefusal, type CallKind, type CallRequest } from "./call-kind.ts";
import { callSteps } from "./call-steps.ts";
import { claimParts } from "./claim-parts.ts";
import type { ClientExchange } from "./client-exchange.ts";
import { findRoom, leaveCircuit, type Room } from "./find-room.ts";
import { marketplaceClaim } from "./marketplace-claim.ts";
import { callPlanInput, findModel } from "./plan-call.ts";
import { clientLeft, refuseCall, routingDeadlinePassed, shuttingDown } from "./refuse-call.ts";
import { reserveRow } from "./reserve-row.ts";
import { serveAdmitted, type ClaimedCall } from "./serve-admitted.ts";
import type { ServeDeps } from "./serve-deps.ts";
import { waitTurn } from "./wait-turn.ts";

/**
 * Serves one call from its bytes to its settled answer: read, plan, claim, hold, dispatch with
 * failover, settle, answer. Streaming and not, same wire and across, it is this one path.
 */
export async function serveCall<R extends CallRequest>(
  deps: ServeDeps,
  exchange: ClientExchange,
  kind: CallKind<R>,
): Promise<void> {
  const { principal } = exchange;
  const family = familyOf(kind);
  const refuse = (value: Refusal, request?: R): void =>
    refuseCall(deps, exchange, { refusal: value, family, ...(request && { request }) });
  const unusual = deps.usage.refuse(principal, family, deps.clock.nowMs());
  if (unusual !== undefined) return refuse(unusual);
  const request = kind.read(exchange);
  if (isRefusal(request)) return refuse(request);
  const { model, endpoint } = findModel(deps.catalog.current, principal, request.modelId);
  const plan = planRoute(callPlanInput(deps, principal, { kind, request, model }));
  if (plan.kind === "refused") return refuse(plan.refusal, request);
  const steps = callSteps(plan, request, kind);
  if (!steps.hasNext() && steps.unencoded !== undefined) return refuse(steps.unencoded, request);

  const { modelId } = request;
  const tokens = callTokens(kind, request, model);
  const limited = { modelId, endpoint, ownKeys: plan.ownKeys };
  const claims = await claimScopes(deps.limits, {
    principal,
    parts: claimParts(deps, principal, limited),
    tokens,
    nowMs: deps.clock.nowMs(),
    monotonicMs: deps.clock.monotonicMs(),
    departed: (orgId, id) => deps.drains.departed(orgId, id),
  });
  if (claims.kind === "refused") return refuse(claims.refusal, request);
  const { claimed } = claims;
  const hold = new CallHold(deps, claimed);
  try {
    const refused = await serveClaimed(deps, exchange, {
      kind,
      request,
      steps,
      tokens,
      hold,
      marketplace: marketplaceClaim(deps, principal, limited),
      queueMs: claimed.queueMs,
      remainingRequests: claimed.remainingRequests,
      remainingTokens: claimed.remainingTokens,
    });
    if (refused === undefined) return;
    hold.undo();
    refuse(refused, request);
  } catch (fault) {
    hold.giveUp();
    throw fault;
  }
}

/**
 * Waits for the call's turn, finds a candidate with room and holds the worst case; then serves. A
 * refusal means that nothing was sent.
 */
async function serveClaimed<R extends CallRequest>(
  deps: ServeDeps,
  exchange: ClientExchange,
  call: ClaimedCall<R>,
): Promise<Refusal | undefined> {
  const { hold, steps, tokens, marketplace, queueMs } = call;
  const { principal } = exchange;
  const timeoutMs = Math.min(
    deps.timeouts.routingMs,
    principal.rules.policy?.timeoutMs ?? Number.POSITIVE_INFINITY,
  );
  const lastStartMs = deps.clock.monotonicMs() + timeoutMs;
  if (queueMs > timeoutMs) return routingDeadlinePassed(timeoutMs);
  const turn = await waitTurn(deps, exchange, queueMs);
  // Whoever left the queue has sent nothing, so nothing is held for it.
  if (turn === "left") return clientLeft();
  if (turn === "cut") return shuttingDown();
  const room = await findRoom(deps, { principal, tokens, steps, marketplace });
  if (room.kind === "full") return room.refusal;
  if (deps.clock.monotonicMs() > lastStartMs) return leaveRoom(deps, room, timeoutMs);
  const reserve = reserveRow(deps, exchange, { ...call, step: room.step, ordinal: 1 });
  const held = await hold.reserve(reserve, room.pool);
  if (held.kind !== "reserved") {
    leaveCircuit(deps, room);
    return reserveRefusal(held, reserve.reserveMicroUsd, principal);
  }
  await serveAdmitted(deps, exchange, { ...call, room, reserve, lastStartMs });
  return undefined;
}

function leaveRoom(deps: ServeDeps, room: Room, timeoutMs: number): Refusal {
  leaveCircuit(deps, room);
  room.pool?.undo(deps.clock.monotonicMs());
  return routingDeadlinePassed(timeoutMs);
}
