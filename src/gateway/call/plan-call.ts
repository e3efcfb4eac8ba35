import { createHash } from "node:crypto";

import type { DedicatedEndpoint } from "../accounts/account-rules.ts";
import type { Organization, Principal } from "../accounts/principal.ts";
import {
  type Catalog,
  type Deployment,
  type ListedModel,
  type ModalityId,
  ownKeyDeployment,
} from "../../catalog/index.ts";
import { hasEquals } from "../routing/affinity.ts";
import type { PlanInput } from "../routing/plan-route.ts";
import type { CallRequest, ProviderControls, Unservable } from "../../formats/index.ts";
import type { CallKind } from "./call-kind.ts";
import type { CallPorts } from "./ports.ts";

/** Where a model id leads for one caller. */
export interface FoundModel {
  readonly model: ListedModel | undefined;
  /** The caller's own capacity: its requests for this model go there and nowhere else. */
  readonly endpoint: DedicatedEndpoint | undefined;
}

/**
 * The model as this caller may use it: of its dedicated endpoint, else of the public catalog. One
 * that its key may not call is one that is not listed for it.
 */
export function findModel(
  catalog: Catalog,
  { rules, models }: Pick<Organization, "rules"> & Pick<Principal, "models">,
  modelId: string,
): FoundModel {
  if (models?.has(modelId) === false) return { model: undefined, endpoint: undefined };
  for (const endpoint of rules.endpoints) {
    const model = catalog.findDedicated(endpoint.providerId, modelId);
    if (model !== undefined) return { model, endpoint };
  }
  return { model: catalog.find(modelId), endpoint: undefined };
}

/** The plan's input of one call, whatever its kind. */
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
    ...(conversation !== undefined && {
      servedLast: ports.affinity.servedLast(conversation, ports.clock.monotonicMs()),
    }),
    servabilityProblem: (deployment) => kind.servabilityProblem(request, deployment),
    isHealthy: ({ id }) => ports.health.mayTry(id, ports.clock.monotonicMs()) !== "no",
  });
}

/**
 * By what a request is known as one of a conversation: the name that its caller gave it, else how
 * its messages begin. Undefined where nothing depends on it, which costs no digest. It is never
 * another organization's.
 */
export function conversationOf(
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

/** What every plan asks of a request, whatever kind of call it is. */
export interface PlanNeeds {
  readonly modelId: string;
  readonly model: ListedModel | undefined;
  readonly modality: ModalityId;
  readonly controls: ProviderControls;
  readonly servedLast?: string | undefined;
  readonly servabilityProblem: (deployment: Deployment) => Unservable | undefined;
  readonly isHealthy: (deployment: Deployment) => boolean;
}

/**
 * The plan's input for this caller: with its organization's policy, and with its own provider keys
 * where this installation can open them.
 */
export function planInput(
  ports: Pick<CallPorts, "opensOwnKeys" | "standing">,
  principal: Principal,
  needs: PlanNeeds,
): PlanInput {
  const { policy, connections } = principal.rules;
  return {
    ...needs,
    keyModels: principal.models,
    standing: ports.standing,
    ...(policy === undefined ? {} : { policy }),
    ...(connections.length === 0 || !ports.opensOwnKeys
      ? {}
      : { ownKeyOf: (deployment: Deployment) => ownKeyCopy(principal, deployment) }),
  };
}

function ownKeyCopy(principal: Principal, deployment: Deployment): Deployment | undefined {
  const { orgId, rules } = principal;
  const own = rules.connections.find(({ providerId }) => providerId === deployment.providerId);
  return own === undefined ? undefined : ownKeyDeployment(deployment, { ...own, orgId });
}
