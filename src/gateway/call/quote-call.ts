import type { Principal } from "../accounts/principal.ts";
import { type Deployment, deploymentAt } from "../../catalog/index.ts";
import { attemptInstantMs, type MicroUsd, type Result, refused } from "../../kernel/index.ts";
import { explainRoute } from "../routing/explain-route.ts";
import type { CallRequest } from "../../formats/index.ts";
import type { CallKind } from "./call-kind.ts";
import { callPlanInput, findModel } from "./plan-call.ts";
import type { CallPorts } from "./ports.ts";

/**
 * The most that a call with this body could be held for, wherever it may be served: read, planned
 * and quoted as a call is, also for providers that are cooling down now. Nothing is held or sent,
 * and no limit is asked.
 */
export function quoteCall<R extends CallRequest>(
  ports: Pick<CallPorts, "catalog" | "opensOwnKeys" | "clock" | "standing" | "affinity" | "ledger">,
  kind: CallKind<R>,
  asked: { readonly principal: Principal; readonly body: Buffer },
): Result<{ readonly most: MicroUsd }> {
  const { principal, body } = asked;
  const read = kind.read({ body, header: () => undefined });
  if (!read.ok) return read;
  const { request } = read;
  const { model } = findModel(ports.catalog.current, principal, request.modelId);
  const input = callPlanInput({ ...ports, health: { mayTry: () => "yes" } }, principal, {
    kind,
    request,
    model,
  });
  const { candidates, refusal } = explainRoute(input);
  if (refusal !== undefined) return refused(refusal);
  const nowMs = attemptInstantMs(ports.ledger.newAttemptId());
  const quotes = candidates.map((each) => kind.quote(request, deploymentAt(each, nowMs)));
  const [first, ...others] = quotes;
  if (first === undefined) throw new Error("a plan without a refusal has a candidate");
  return { ok: true, most: others.reduce((most, each) => (each > most ? each : most), first) };
}

/**
 * The largest output bound with which this request would cost at most `micros`; 0: not even one
 * token fits. Undefined: the client cannot lower its price by it.
 */
export function outputWithin<R extends CallRequest>(
  kind: CallKind<R>,
  request: R,
  deployment: Deployment,
  micros: bigint,
): number | undefined {
  const cost = (outputTokens: number): MicroUsd => kind.quote(request, deployment, outputTokens);
  if (cost(1) === cost(request.outputTokens)) return undefined;
  let fits = 0;
  let tooMany = request.outputTokens;
  while (tooMany - fits > 1) {
    const half = Math.floor((fits + tooMany) / 2);
    if (cost(half) <= micros) fits = half;
    else tooMany = half;
  }
  return fits;
}
