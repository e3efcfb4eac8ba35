import type { Deployment } from "../../catalog/index.ts";
import type {
  ParsedChatRequest,
  TokenCounter,
  TokenCounting,
  UpstreamRequest,
} from "../../formats/index.ts";
import {
  ERROR_BODY_BYTES_MAX,
  memoizeByObject,
  type OrgId,
  type Refusal,
  refused,
  type Result,
  SETTINGS_REQUESTS_PER_MINUTE,
  type Turns,
  presentKeyId,
} from "../../kernel/index.ts";
import { fetchJson } from "../../upstream/index.ts";
import type { Principal } from "../accounts/principal.ts";
import { orgSlot, type ScopeClaim, NO_TOKENS } from "../limits/limit-store.ts";
import { planRoute } from "../routing/plan-route.ts";
import { type ClaimedScopes, claimScopes } from "./claim.ts";
import type { CallKind } from "./call-kind.ts";
import type { ClientExchange, ServedHeaders } from "./client-exchange.ts";
import { findModel, planInput } from "./plan.ts";
import type { CallPorts } from "./ports.ts";
import { refuseCall } from "./refuse.ts";

export interface CountedCall {
  readonly counting: TokenCounting;
  readonly chat: CallKind<ParsedChatRequest>;
  /** Bounds each organization's concurrent counts at providers: each keeps its body in memory. */
  readonly asking: Turns;
}

/**
 * Counts tokens free of charge. Asks the first provider of the plan if its wire has a token count;
 * otherwise, or if no count comes in time, answers with an estimate that is marked as such. An
 * organization with too many waiting counts also gets an estimate.
 */
export async function serveCountTokens(
  deps: CallPorts,
  exchange: ClientExchange,
  count: CountedCall,
): Promise<void> {
  const { counting } = count;
  const { principal } = exchange;
  const parsed = counting.parse(exchange);
  if (!parsed.ok) return refuseCall(deps, exchange, parsed);
  const { request } = parsed;
  const choice = chooseCounter(deps, principal, { ...count, request });
  if (!choice.ok) return refuseCall(deps, exchange, { ...choice, request });
  const counted = await countRequest(deps, exchange);
  if (!counted.ok) return refuseCall(deps, exchange, { ...counted, request });

  if (exchange.gone) return;
  const { remainingRequests } = counted;
  const { deployment } = choice;
  const { droppedParams } = request;
  const answer = (tokens: number, headers: ServedHeaders): void =>
    exchange.answer("application/json", headers, counting.counter.answerBody(tokens));
  const estimated = { remainingRequests, droppedParams, estimate: "local" } as const;
  const upstream = deployment && counting.encode(request, deployment);
  const end = upstream && (await count.asking.take(principal.orgId));
  if (deployment === undefined || upstream === undefined || end === undefined) {
    return answer(counting.estimate(request), estimated);
  }
  const { counter } = counting;
  const asked = askProvider(deps, exchange, { counter, deployment, upstream });
  const tokens = await asked.finally(end);
  const attempts = 1;
  if (tokens === undefined) return answer(counting.estimate(request), { attempts, ...estimated });
  answer(tokens, {
    provider: deployment.providerId,
    attempts,
    remainingRequests,
    droppedParams: upstream.droppedParams,
  });
}

/** `deployment` is undefined if the gateway must estimate. Refuses models closed to the caller. */
function chooseCounter(
  deps: CallPorts,
  principal: Principal,
  { counting, chat, request }: CountedCall & { readonly request: ParsedChatRequest },
): Result<{ readonly deployment: Deployment | undefined }> {
  const nowMs = deps.clock.monotonicMs();
  const asSent = planInput(deps, principal, {
    modelId: request.modelId,
    model: findModel(deps.catalog.current, principal, request.modelId).model,
    modality: "text",
    controls: request.controls,
    servabilityProblem: (deployment) => chat.servabilityProblem(request, deployment),
    // A half-open circuit admits only probes that report an outcome, and a count reports none.
    isHealthy: ({ id }) => deps.health.mayTry(id, nowMs) === "yes",
  });
  const plan = planRoute(asSent);
  if (plan.kind === "plan") {
    const { first } = plan;
    return { ok: true, deployment: counting.isAnsweredBy(first) ? first : undefined };
  }
  // Nothing is generated, so the gateway estimates even if no provider can serve the request.
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

/** Undefined if no count comes in time, which does not affect the provider's health. */
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
    totalMs: Math.min(timeouts.stream.headersMs, timeouts.whole.totalMs),
    bytesMax: ERROR_BODY_BYTES_MAX,
    send: (handler) => upstream.send(asked.deployment, asked.upstream, handler),
  });
  exchange.onGone(() => running.abandon());
  return asked.counter.read(await running.ended);
}

/** Counts a free request against requests per minute only: no other limit can refuse it. */
export async function countRequest(
  ports: CallPorts,
  client: ClientExchange,
): Promise<Result<{ readonly remainingRequests: number }>> {
  const { principal } = client;
  const outcome = await claimIn(ports, principal, requestsOnly(ports.scopesOf(principal)));
  if (!outcome.ok) return outcome;
  const { claimed } = outcome;
  claimed.release(NO_TOKENS);
  return { ok: true, remainingRequests: claimed.remainingRequests };
}

const SETTING_LIMITS = { requestsPerMinute: SETTINGS_REQUESTS_PER_MINUTE };

/**
 * Claims one change of a setting by a key, in windows that count only such changes. If they counted
 * in the key's ordinary window, a key that had lowered its own limit could not raise it again
 * within the minute; if they counted together with changes by persons, a stolen key could block
 * those. Release the claim if the change was made, else undo it.
 */
export async function claimKeySetting(
  ports: Pick<CallPorts, "limits" | "clock">,
  principal: Principal,
): Promise<Result<{ readonly claimed: ClaimedScopes }>> {
  const { orgId, keyId } = principal;
  const id = `settings:${keyId}`;
  const shownId = `settings:${presentKeyId(principal)}`;
  const claiming = await claimIn(ports, principal, [
    { scope: "key", id, shownId, limits: SETTING_LIMITS },
    { scope: "org", id: `settings-by-keys:${orgId}`, limits: SETTING_LIMITS },
  ]);
  return claiming.ok ? claiming : refused(nameChanges(claiming.refusal));
}

/** The usual message is about all requests, and names `GET /v1/limits`, which shows no changes. */
function nameChanges(value: Refusal): Refusal {
  const { limit, retryAfterSeconds = 1 } = value;
  if (value.class !== "rate_limit") return value;
  const whose = limit?.scope === "key" ? "this key is" : "the organization's keys together are";
  const most = `${SETTINGS_REQUESTS_PER_MINUTE} changes of limits per minute`;
  return { ...value, message: `${whose} limited to ${most}; retry in ${retryAfterSeconds} s` };
}

/** Like `claimKeySetting`, for a change of a setting by a person of the organization. */
export async function claimOrgSetting(
  ports: Pick<CallPorts, "limits" | "clock">,
  orgId: OrgId,
): Promise<Result<{ readonly claimed: ClaimedScopes }>> {
  const id = `settings:${orgId}`;
  return await claimIn(ports, { orgId }, [{ scope: "org", id, limits: SETTING_LIMITS }]);
}

async function claimIn(
  ports: Pick<CallPorts, "limits" | "clock">,
  principal: { readonly orgId: OrgId },
  scopes: readonly ScopeClaim[],
): Promise<Result<{ readonly claimed: ClaimedScopes }>> {
  const parts = [{ slot: orgSlot(principal.orgId), scopes }];
  return await claimScopes(ports, { principal, parts, tokens: NO_TOKENS });
}

/** Memoized, because the Redis store caches by the identity of an array of scopes. */
const requestsOnly = memoizeByObject((scopes: readonly ScopeClaim[]) =>
  scopes.map((scope) => {
    const { requestsPerMinute } = scope.limits;
    return { ...scope, limits: requestsPerMinute === undefined ? {} : { requestsPerMinute } };
  }),
);
