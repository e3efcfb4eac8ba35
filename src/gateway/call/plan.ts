import { createHash } from "node:crypto";

import {
  type Catalog,
  type Deployment,
  deploymentAt,
  type ListedModel,
  ownKeyDeployment,
} from "../../catalog/index.ts";
import type { CallRequest } from "../../formats/index.ts";
import {
  assert,
  attemptInstantMs,
  type MicroUsd,
  type Refused,
  refused,
  type Result,
} from "../../kernel/index.ts";
import type { DedicatedEndpoint } from "../accounts/account-rules.ts";
import type { Organization, Principal } from "../accounts/principal.ts";
import { explainRoute, hasEquals, type PlanInput, planRoute } from "../routing/plan-route.ts";
import type { CallKind, CallTokens } from "./call-kind.ts";
import { CandidateList } from "./candidates.ts";
import { marketplaceClaim } from "./claim.ts";
import type { ClientExchange } from "./client-exchange.ts";
import type { AcceptedCall } from "./hold.ts";
import type { CallPorts } from "./ports.ts";
import { tokenCount } from "../limits/limit-store.ts";

type AcceptOutcome<R extends CallRequest> =
  { readonly ok: true; readonly call: AcceptedCall<R> } | (Refused & { readonly request?: R });

/** Reads a request, plans its route and makes the checks that need no limits and no ledger. */
export function acceptCall<R extends CallRequest>(
  ports: CallPorts,
  client: ClientExchange,
  kind: CallKind<R>,
): AcceptOutcome<R> {
  const { principal } = client;
  const unusual = ports.usage.refuse(principal, kind.family, ports.clock.nowMs());
  if (unusual !== undefined) return refused(unusual);
  const read = kind.read(client);
  if (!read.ok) return read;
  const { request } = read;
  const { modelId } = request;
  const { model, endpoint } = findModel(ports.catalog.current, principal, modelId);
  const conversation = identifyConversation(principal, request, model);
  const plan = planRoute(callPlanInput(ports, principal, { kind, request, model, conversation }));
  if (plan.kind === "refused") return { ...refused(plan.refusal), request };
  const candidates = new CandidateList(plan, (deployment) => kind.encode(request, deployment));
  if (!candidates.hasFirst && candidates.unencoded !== undefined) {
    return { ...refused(candidates.unencoded), request };
  }
  const limited = { modelId, endpoint, ownKeys: plan.ownKeys };
  const marketplace = marketplaceClaim(ports, principal, limited);
  const tokens = estimateTokens(kind, request, { model, body: client.body });
  const timeoutMs = Math.min(
    ports.timeouts.routingMs,
    principal.rules.policy?.timeoutMs ?? Infinity,
  );
  const { trace } = client;
  const asked = { kind, request, candidates, conversation };
  return { ok: true, call: { ...asked, tokens, limited, marketplace, timeoutMs, trace } };
}

export function estimateTokens<R extends CallRequest>(
  kind: CallKind<R>,
  request: R,
  of: { readonly model: ListedModel | undefined; readonly body: Buffer },
): CallTokens {
  const input =
    kind.inputTokens?.(request, of.model?.deployments ?? []) ?? request.estimatedInputTokens;
  return {
    ...tokenCount(input, request.outputTokens),
    besideBytes: input - of.body.length,
    isOutputFixed: kind.modality !== "text",
  };
}

export interface FoundModel {
  readonly model: ListedModel | undefined;
  /** The caller's dedicated endpoint; if set, requests for this model go only to it. */
  readonly endpoint: DedicatedEndpoint | undefined;
}

/** Dedicated endpoints come first. A model that the key may not call counts as not listed. */
export function findModel(
  catalog: Catalog,
  { rules, models }: Pick<Organization, "rules"> & Pick<Principal, "models">,
  modelId: string,
): FoundModel {
  if (models?.has(modelId) === false) return { model: undefined, endpoint: undefined };
  const own = rules.endpoints.filter(({ providerId }) => catalog.isDedicated(providerId, modelId));
  const served = ({ providerId }: DedicatedEndpoint) => catalog.findDedicated(providerId, modelId);
  // An endpoint that cannot serve, such as one without its key, leaves nothing to the public.
  const endpoint = own.find(served) ?? own[0];
  return { model: endpoint === undefined ? catalog.find(modelId) : served(endpoint), endpoint };
}

export function callPlanInput<R extends CallRequest>(
  ports: Pick<CallPorts, "opensOwnKeys" | "clock" | "standing" | "affinity"> & {
    readonly health: Pick<CallPorts["health"], "mayTry">;
  },
  principal: Principal,
  call: {
    readonly kind: CallKind<R>;
    readonly request: R;
    readonly model: ListedModel | undefined;
    readonly conversation?: string | undefined;
  },
): PlanInput {
  const { kind, request, model, conversation } = call;
  return planInput(ports, principal, {
    modelId: request.modelId,
    model,
    modality: kind.modality,
    controls: request.controls,
    servedLast: conversation && ports.affinity.get(conversation, ports.clock.monotonicMs()),
    servabilityProblem: (deployment) => kind.servabilityProblem(request, deployment),
    isHealthy: ({ id }) => ports.health.mayTry(id, ports.clock.monotonicMs()) !== "no",
  });
}

/**
 * Returns a digest of the name that the caller gave the conversation, or else of the beginning of
 * its messages. Routing prefers the deployment that served this digest last, but only among
 * deployments of equal priority. Undefined if no two have equal priority, or if there is neither a
 * name nor a message. Two organizations never share a digest.
 */
export function identifyConversation(
  { orgId, keyId }: Pick<Principal, "orgId" | "keyId">,
  request: CallRequest,
  model: ListedModel | undefined,
): string | undefined {
  if (model === undefined || !hasEquals(model)) return undefined;
  const conversation = request.conversation?.();
  if (conversation === undefined) return undefined;
  const { isNamed, bytes } = conversation;
  const scope = JSON.stringify([orgId, model.id, isNamed ? null : keyId]);
  return createHash("sha256").update(scope).update(bytes).digest("base64");
}

/** Adds the key's models, the standing of listings and the organization's policy and own keys. */
export function planInput(
  ports: Pick<CallPorts, "opensOwnKeys" | "standing">,
  principal: Principal,
  needs: Omit<PlanInput, "keyModels" | "standing" | "policy" | "ownKeyOf">,
): PlanInput {
  const { orgId, models, rules } = principal;
  const { policy, connections } = rules;
  return {
    ...needs,
    keyModels: models,
    standing: ports.standing,
    policy,
    ownKeyOf:
      connections.length === 0 || !ports.opensOwnKeys
        ? undefined
        : (deployment) => {
            const own = connections.find(({ providerId }) => providerId === deployment.providerId);
            return own && ownKeyDeployment(deployment, { ...own, orgId });
          },
  };
}

/** Returns the largest reserve that a call could need with any candidate. Changes nothing. */
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
  const anyone = { ...ports, health: { mayTry: () => "yes" as const } };
  const input = callPlanInput(anyone, principal, { kind, request, model });
  const { candidates, refusal } = explainRoute(input);
  if (refusal !== undefined) return refused(refusal);
  const nowMs = attemptInstantMs(ports.ledger.newAttemptId());
  const quotes = candidates.map((each) => kind.quote(request, deploymentAt(each, nowMs)));
  assert(quotes.length > 0, "a plan without a refusal has a candidate");
  return { ok: true, most: quotes.reduce((most, each) => (each > most ? each : most)) };
}

/**
 * Returns the largest output bound, below the request's own, for which the quote is at most
 * `micros` micro-USD. Returns 0 if even one token costs more; undefined if the output bound does
 * not change the quote.
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
