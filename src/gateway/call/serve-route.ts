import { deploymentAt } from "../../catalog/index.ts";
import type { CallRequest } from "../../formats/index.ts";
import { attemptInstantMs, invalidRequest, microUsd, printJson } from "../../kernel/index.ts";
import type { ReserveOutcome, ReserveRow, SpendReads } from "../../ledger/index.ts";
import type { Principal } from "../accounts/principal.ts";
import { explainRoute } from "../routing/plan-route.ts";
import type { CallKind } from "./call-kind.ts";
import { previewCall } from "./call.ts";
import { enterPool } from "./candidates.ts";
import { marketplaceClaim } from "./claim.ts";
import type { ClientExchange } from "./client-exchange.ts";
import { countRequest } from "./count-tokens.ts";
import { callPlanInput, identifyConversation, findModel, estimateTokens } from "./plan.ts";
import type { CallPorts } from "./ports.ts";
import { bodyTooLarge, refuseCall } from "./refuse.ts";
import {
  type ExcludedStep,
  findTaken,
  routeAnswer,
  type ShownRoute,
  type ShownStep,
} from "./route-contract.ts";

export interface RoutePorts extends CallPorts {
  readonly records: SpendReads;
}

export type DryRun = (ports: RoutePorts, client: ClientExchange) => Promise<void>;

/**
 * Answers `POST /v1/route?for=`: describes what a call with this body would do. Holds, sends and
 * charges nothing. If the call would be refused, the answer is a 200 that contains the refusal,
 * unless the body itself is not valid.
 */
export async function serveRoute(
  ports: RoutePorts,
  client: ClientExchange,
  asked: { readonly runs: ReadonlyMap<string, DryRun>; readonly query: URLSearchParams },
): Promise<void> {
  const name = asked.query.get("for") ?? "";
  const run = asked.runs.get(name);
  if (run !== undefined) return await run(ports, client);
  const known = [...asked.runs.keys()].join(", ").replace(/, ([^,]*)$/, " or $1");
  const message = `the query parameter for must be ${known}, not ${JSON.stringify(name.slice(0, 64))}`;
  refuseCall(ports, client, { refusal: invalidRequest(message) });
}

/** `bodyBytesMax` is the bound of the kind's own route, if it is below that of the dry run. */
export function bindDryRun<R extends CallRequest>(
  kind: CallKind<R>,
  bodyBytesMax = Infinity,
): DryRun {
  return async (ports, client) => {
    if (client.body.length > bodyBytesMax) {
      return refuseCall(ports, client, bodyTooLarge(bodyBytesMax));
    }
    const read = kind.read(client);
    if (!read.ok) return refuseCall(ports, client, read);
    const { request } = read;
    const counted = await countRequest(ports, client);
    if (!counted.ok) return refuseCall(ports, client, { ...counted, request });

    const looking = lookingPorts(ports, ports.records);
    const walk = await walkRoute(looking, client.principal, { kind, request, body: client.body });
    const taken = findTaken(walk.steps)?.deployment;
    const reserve =
      taken === undefined || taken.prices === null
        ? null
        : kind.quote(request, deploymentAt(taken, attemptInstantMs(ports.ledger.newAttemptId())));
    // `read` returns the request from above, so this preview is not refused for its body.
    const refusal = await previewCall(looking, client, { ...kind, read: () => read });
    const body = printJson(routeAnswer.show({ ...walk, request, reserve, refusal }));
    const { remainingRequests } = counted;
    client.answer("application/json", { remainingRequests }, Buffer.from(body));
  };
}

/** Plans the route and checks the pools. Excludes deployments that cannot express the request. */
async function walkRoute<R extends CallRequest>(
  ports: CallPorts,
  principal: Principal,
  asked: { readonly kind: CallKind<R>; readonly request: R; readonly body: Buffer },
): Promise<Pick<ShownRoute, "steps" | "excluded">> {
  const { kind, request, body } = asked;
  const nowMs = ports.clock.monotonicMs();
  const { model, endpoint } = findModel(ports.catalog.current, principal, request.modelId);
  const conversation = identifyConversation(principal, request, model);
  const input = callPlanInput(ports, principal, { kind, request, model, conversation });
  const explained = explainRoute(input);
  const tokens = estimateTokens(kind, request, { model, body });
  const { ownKeys } = explained;
  const limited = { modelId: request.modelId, endpoint, ownKeys };
  const steps: ShownStep[] = [];
  const excluded: ExcludedStep[] = [...explained.excluded];
  for (const deployment of explained.candidates) {
    const encoded = kind.encode(request, deployment);
    if (!encoded.ok) {
      excluded.push({ deployment, reason: encoded.refusal.message });
    } else {
      const { upstream } = encoded;
      const health = ports.health.mayTry(deployment.id, nowMs) === "yes" ? "healthy" : "half_open";
      const translated = kind.wire !== undefined && deployment.wire !== kind.wire;
      const marketplace = marketplaceClaim(ports, principal, limited);
      const entered = await enterPool(ports, principal, { deployment, tokens, marketplace });
      const poolFull = entered.ok ? undefined : entered.refusal;
      const servedLast = deployment.id === input.servedLast;
      steps.push({ deployment, upstream, health, translated, servedLast, poolFull });
    }
  }
  return { steps, excluded };
}

/**
 * Returns ports with which a call is checked as usual but leaves nothing behind: each claim is
 * undone at once, no circuit is probed, and a hold is only compared with the balance and the spend
 * caps.
 */
export function lookingPorts(ports: CallPorts, spend: SpendReads): CallPorts {
  const { limits, clock, health, ledger, shortfalls } = ports;
  const nothing = (): undefined => undefined;
  const reserve = (row: ReserveRow): Promise<ReserveOutcome> => lookAtReserve(spend, row);
  return {
    ...ports,
    limits: {
      claim: async (claim) => {
        const outcome = await limits.claim(claim);
        if (outcome.kind === "claimed") limits.undo(outcome.lease, clock.monotonicMs());
        return outcome;
      },
      depart: nothing,
      // `claim` has undone the claim already.
      release: nothing,
      undo: nothing,
      cool: nothing,
      peek: (asked) => limits.peek(asked),
    },
    health: {
      mayTry: (id, nowMs) => health.mayTry(id, nowMs),
      startProbe: (id, nowMs) => health.mayTry(id, nowMs) !== "no",
      report: nothing,
    },
    ledger: {
      newAttemptId: () => ledger.newAttemptId(),
      reserve,
      roll: (_close, next) => reserve(next),
      close: () => Promise.reject(new Error("a dry run closes no attempt")),
      recordRefused: nothing,
      healthy: ledger.healthy,
      shutDown: () => Promise.resolve(),
    },
    // The memory of refused holds is read, but does not change.
    shortfalls: {
      find: (row) => shortfalls.find(row),
      asking: nothing,
      note: nothing,
      forget: nothing,
    },
  };
}

/**
 * Repeats the ledger's checks in its order: the key's caps (the one that resets last first), the
 * organization's cap, the balance.
 */
async function lookAtReserve(spend: SpendReads, row: ReserveRow): Promise<ReserveOutcome> {
  const { orgId, keyId, reserveMicroUsd: needed } = row;
  const [balance, ofOrg, ofKey, ofPeriods] = await Promise.all([
    spend.balance(orgId),
    spend.monthSpend(orgId),
    spend.monthSpend(orgId, keyId),
    spend.periodSpend(orgId, keyId),
  ]);
  const keyCaps = [
    { scope: "key", period: "month", ...ofKey } as const,
    ...ofPeriods.map((each) => ({ scope: "key", ...each }) as const),
  ];
  const caps = [
    ...keyCaps.toSorted((a, b) => b.resetAtMs - a.resetAtMs),
    { scope: "org", period: "month", ...ofOrg } as const,
  ];
  for (const { scope, period, capMicroUsd, spentMicroUsd, inFlightMicroUsd, resetAtMs } of caps) {
    if (capMicroUsd === null || spentMicroUsd + inFlightMicroUsd + needed <= capMicroUsd) continue;
    const spent = { settledMicroUsd: spentMicroUsd, inFlightMicroUsd };
    return { kind: "cap", scope, period, capMicroUsd, ...spent, resetAtMs };
  }
  const { settledMicroUsd, heldMicroUsd } = balance;
  const availableMicroUsd = microUsd(settledMicroUsd - heldMicroUsd);
  if (needed > availableMicroUsd) return { kind: "low_balance", availableMicroUsd, heldMicroUsd };
  return { kind: "reserved" };
}
