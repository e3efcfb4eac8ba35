import { claimScopes, reserveRefusal } from "./admit.ts";
import type { Principal } from "../accounts/principal.ts";
import type { DedicatedEndpoint } from "../accounts/account-rules.ts";
import type { Deployment, WireId } from "../catalog/catalog.ts";
import { microUsd, type MicroUsd } from "../core/money.ts";
import { invalidRequest, type Refusal } from "../core/refusals.ts";
import type { SpendReads } from "../ledger/spend-reads.ts";
import type { TokenCount } from "../limits/limit-store.ts";
import { explainRoute } from "../routing/explain-route.ts";
import type { OwnKeys } from "../routing/plan-route.ts";
import { callTokens, isRefusal, type CallKind, type CallRequest, type Step } from "./call-kind.ts";
import type { ClientExchange } from "./client-exchange.ts";
import { countRequest } from "./count-request.ts";
import { claimParts, type ClaimedCall } from "./claim-parts.ts";
import { enterPool } from "./find-room.ts";
import { marketplaceClaim } from "./marketplace-claim.ts";
import { callPlanInput, findModel } from "./plan-call.ts";
import { refuseCall } from "./refuse-call.ts";
import type { ServeDeps } from "./serve-deps.ts";
import { routeBody, type ExcludedStep, type ShownStep } from "./show-route.ts";

export interface RouteDeps extends ServeDeps {
  readonly records: SpendReads;
}

/** One thing that `?for=` may name. */
export type DryRun = (deps: RouteDeps, exchange: ClientExchange) => Promise<void>;

/**
 * `POST /v1/route?for=`: a dry run. The body is checked as the real route would check it, up to the
 * claim; nothing is held, sent or charged, and what would refuse it is told in the answer.
 */
export async function serveRoute(
  deps: RouteDeps,
  exchange: ClientExchange,
  asked: { readonly runs: ReadonlyMap<string, DryRun>; readonly query: URLSearchParams },
): Promise<void> {
  const name = asked.query.get("for") ?? "";
  const run = asked.runs.get(name);
  if (run !== undefined) return await run(deps, exchange);
  const known = [...asked.runs.keys()].join(", ").replace(/, ([^,]*)$/, " or $1");
  const message = `the query parameter for must be ${known}, not ${JSON.stringify(name.slice(0, 64))}`;
  refuseCall(deps, exchange, { refusal: invalidRequest(message) });
}

/** The dry run of one kind of call; `wire`: the one it comes on, where there are several. */
export function dryRunOf<R extends CallRequest>(kind: CallKind<R>, wire?: WireId): DryRun {
  return (deps, exchange) => runDry(deps, exchange, { kind, wire });
}

interface DryCall<R extends CallRequest> {
  readonly kind: CallKind<R>;
  readonly wire: WireId | undefined;
}

async function runDry<R extends CallRequest>(
  deps: RouteDeps,
  exchange: ClientExchange,
  call: DryCall<R>,
): Promise<void> {
  const { kind } = call;
  const request = kind.read(exchange);
  if (isRefusal(request)) return refuseCall(deps, exchange, { refusal: request });
  const counted = await countRequest(deps, exchange);
  if (isRefusal(counted)) return refuseCall(deps, exchange, { refusal: counted, request });

  const { principal } = exchange;
  const walk = await walkRoute(deps, principal, { ...call, request });
  const reserve = reserveOf(walk.steps[0], request, kind);
  const refused =
    walk.refusal ??
    (await refusedByLimits(deps, principal, { ...walk, modelId: request.modelId })) ??
    refusedByPools(walk.steps) ??
    (await refusedByMoney(deps.records, principal, reserve));
  const body = routeBody({ ...walk, request, reserve, refusal: refused });
  const { remainingRequests } = counted;
  exchange.answer("application/json", { remainingRequests }, Buffer.from(body));
}

interface RouteWalk {
  readonly steps: readonly ShownStep[];
  readonly excluded: readonly ExcludedStep[];
  readonly refusal: Refusal | undefined;
  readonly endpoint: DedicatedEndpoint | undefined;
  readonly ownKeys: OwnKeys;
  readonly tokens: TokenCount;
}

/** Plans, encodes for every candidate (what cannot be encoded is none) and looks at its pool. */
async function walkRoute<R extends CallRequest>(
  deps: ServeDeps,
  principal: Principal,
  { wire, kind, request }: DryCall<R> & { readonly request: R },
): Promise<RouteWalk> {
  const nowMs = deps.clock.monotonicMs();
  const { model, endpoint } = findModel(deps.catalog.current, principal, request.modelId);
  const explained = explainRoute(callPlanInput(deps, principal, { kind, request, model }));
  const tokens = callTokens(kind, request, model);
  const { ownKeys } = explained;
  const limited = { modelId: request.modelId, endpoint, ownKeys };
  const steps: ShownStep[] = [];
  const excluded: ExcludedStep[] = [...explained.excluded];
  let unencoded: Refusal | undefined;
  for (const deployment of explained.candidates) {
    const upstream = kind.encode(request, deployment);
    if (isRefusal(upstream)) {
      unencoded ??= upstream;
      excluded.push({ deployment, reason: upstream.message });
    } else {
      const health = deps.health.mayTry(deployment.id, nowMs) === "yes" ? "healthy" : "half_open";
      const translated = wire !== undefined && deployment.wire !== wire;
      const poolFull = await whyPoolFull(deps, principal, { deployment, tokens, limited });
      steps.push({ deployment, upstream, health, translated, poolFull });
    }
  }
  const refused = explained.refusal ?? (steps.length === 0 ? unencoded : undefined);
  return { steps, excluded, refusal: refused, endpoint, ownKeys, tokens };
}

/** Takes a place in the pool as the request would, and gives it back at once. */
async function whyPoolFull(
  deps: ServeDeps,
  principal: Principal,
  asked: {
    readonly deployment: Deployment;
    readonly tokens: TokenCount;
    readonly limited: ClaimedCall;
  },
): Promise<Refusal | undefined> {
  const { deployment, tokens } = asked;
  const marketplace = marketplaceClaim(deps, principal, asked.limited);
  const entered = await enterPool(deps, { principal, tokens, marketplace }, deployment);
  if (entered.kind === "refused") return entered.refusal;
  entered.pool?.undo(deps.clock.monotonicMs());
  return undefined;
}

/** Only when no candidate has room: the one that has it first. */
function refusedByPools(steps: readonly ShownStep[]): Refusal | undefined {
  const full = steps.map(({ poolFull }) => poolFull);
  if (full.length === 0 || full.includes(undefined)) return undefined;
  const waitOf = (each: Refusal | undefined): number => each?.retryAfterSeconds ?? Infinity;
  return full.toSorted((a, b) => waitOf(a) - waitOf(b))[0];
}

/** Null: there is no candidate, so there is nothing that could be held. */
function reserveOf<R extends CallRequest>(
  step: Step | undefined,
  request: R,
  kind: CallKind<R>,
): MicroUsd | null {
  if (step === undefined || step.deployment.prices === null) return null;
  return kind.quote(request, step.deployment);
}

/** Claims as the request itself would and takes it back at once: no trace stays. */
async function refusedByLimits(
  deps: ServeDeps,
  principal: Principal,
  asked: Pick<RouteWalk, "endpoint" | "ownKeys" | "tokens"> & { readonly modelId: string },
): Promise<Refusal | undefined> {
  const { modelId, endpoint, ownKeys, tokens } = asked;
  const monotonicMs = deps.clock.monotonicMs();
  const outcome = await claimScopes(deps.limits, {
    principal,
    parts: claimParts(deps, principal, { modelId, endpoint, ownKeys }),
    tokens,
    nowMs: deps.clock.nowMs(),
    monotonicMs,
    departed: (orgId, id) => deps.drains.departed(orgId, id),
  });
  if (outcome.kind === "refused") return outcome.refusal;
  outcome.claimed.undo(monotonicMs);
  return undefined;
}

/** The checks of the ledger in the ledger's order: the key's cap, the organization's, the balance. */
async function refusedByMoney(
  records: SpendReads,
  principal: Principal,
  needed: MicroUsd | null,
): Promise<Refusal | undefined> {
  if (needed === null) return undefined;
  const { orgId, keyId } = principal;
  const [balance, ofOrg, ofKey] = await Promise.all([
    records.balance(orgId),
    records.monthSpend(orgId),
    records.monthSpend(orgId, keyId),
  ]);
  for (const [scope, month] of [["key", ofKey] as const, ["org", ofOrg] as const]) {
    const { capMicroUsd, spentMicroUsd, inFlightMicroUsd, resetAtMs } = month;
    if (capMicroUsd === null || spentMicroUsd + inFlightMicroUsd + needed <= capMicroUsd) continue;
    const settledMicroUsd = spentMicroUsd;
    const cap = { scope, capMicroUsd, settledMicroUsd, inFlightMicroUsd, resetAtMs };
    return reserveRefusal({ kind: "cap", ...cap }, needed, principal);
  }
  const { settledMicroUsd, heldMicroUsd } = balance;
  const availableMicroUsd = microUsd(settledMicroUsd - heldMicroUsd);
  if (needed <= availableMicroUsd) return undefined;
  return reserveRefusal(
    { kind: "low_balance", availableMicroUsd, heldMicroUsd },
    needed,
    principal,
  );
}
