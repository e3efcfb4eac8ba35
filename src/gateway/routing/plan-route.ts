import type { Deployment, ListedModel, ModalityId } from "../../catalog/index.ts";
import type { ProviderControls, Unservable } from "../../formats/index.ts";
import {
  ExpiringCache,
  HEALTH_RETRY_AFTER_SECONDS,
  invalidRequest,
  type Refusal,
  refusal,
} from "../../kernel/index.ts";
import type { RoutingPolicy } from "../accounts/account-rules.ts";

export interface RoutePlan {
  readonly kind: "plan";
  readonly first: Deployment;
  /**
   * To be read once. Checked on use: for another wire, a check costs as much as translating the
   * request.
   */
  readonly others: () => Generator<Deployment>;
  /** Deployments that would be tried if they were healthy. */
  readonly cooling: () => readonly Deployment[];
  /** How the caller's own provider keys are used: not at all, first, or exclusively. */
  readonly ownKeys: OwnKeys;
}

export type OwnKeys = "none" | "first" | "only";

export interface PlanInput {
  /** The model's id as the client sent it; the refusal of an unknown id repeats it. */
  readonly modelId: string;
  readonly model: ListedModel | undefined;
  /** The models that the caller's key may call; undefined means all. */
  readonly keyModels?: ReadonlySet<string> | undefined;
  readonly modality: ModalityId;
  readonly controls: ProviderControls;
  readonly policy?: RoutingPolicy | undefined;
  /** Returns a copy of the deployment with the caller's own provider key; undefined without one. */
  readonly ownKeyOf?: ((deployment: Deployment) => Deployment | undefined) | undefined;
  readonly servabilityProblem: (deployment: Deployment) => Unservable | undefined;
  readonly isHealthy: (deployment: Deployment) => boolean;
  /** Id of the deployment that served this conversation last: it comes first among equals. */
  readonly servedLast?: string | undefined;
  /** Absent means that every listing is trusted. */
  readonly standing?: ListingStanding;
}

export interface ListingStanding {
  /** False if verified listings are required and the deployment's listing is not verified. */
  mayRoute(deployment: Deployment): boolean;
  /** True if the deployment broke promises of its listing, so that others are tried before it. */
  isDistrusted(deployment: Deployment): boolean;
}

export type PlanOutcome = RoutePlan | { readonly kind: "refused"; readonly refusal: Refusal };

const ROUTE_OF_MODALITY: Readonly<Record<ModalityId, string>> = {
  text: "POST /v1/chat/completions or POST /v1/messages",
  image: "POST /v1/images/generations",
  video: "POST /v1/videos",
  decisions: "POST /v1/decisions",
};

/**
 * Chooses the deployments that may serve a request: listed, of its modality, permitted by
 * `provider` controls and the organization's policy, verified if required, able to serve it,
 * priced, healthy. The first condition that excludes all of them determines the refusal. Sorts them
 * by `provider.order`, trust and own key, then in routing order: old prices last, then by priority,
 * then by price. Among equals, the deployment that served the conversation last comes first.
 */
export function planRoute(input: PlanInput): PlanOutcome {
  const { model, modelId, controls } = input;
  if (model === undefined) return toRefused(unknownModel(modelId, input.keyModels));
  if (model.modality !== input.modality) return toRefused(wrongRoute(model));
  const named = model.deployments.filter((each) => policyProblem(each, input) === undefined);
  if (named.length === 0) return toRefused(controlsExcludeAll(input));
  const trusted = keepTrusted(named, input.standing);
  if (trusted.length === 0) return toRefused(notVerified(modelId));
  const allowed = withOwnKeys(trusted, input);
  // Empty if only own keys are allowed, and the caller has none for a provider of this model.
  if (allowed.length === 0) return toRefused(unknownModel(modelId));
  const priced = allowed.filter((each) => each.prices !== null);
  const usable = priced.filter(input.isHealthy);
  const able = servable(rankDeployments(usable, input), input);
  const first = able.next().value;
  if (first === undefined) return toRefused(noCandidateRefusal(input, allowed));
  const others = () => (controls.allowFallbacks ? able : servable([], input));
  const ownKeys = first.ownKey === undefined ? "none" : chooseOwnKeys(controls);
  const cooling = (): readonly Deployment[] => {
    const all = [...servable(rankDeployments(priced, input), input)];
    const triable = controls.allowFallbacks ? all : all.slice(0, all.indexOf(first));
    return triable.filter((each) => !usable.includes(each));
  };
  return { kind: "plan", first, others, cooling, ownKeys };
}

function rankDeployments(
  deployments: readonly Deployment[],
  { controls: { order }, servedLast, standing }: PlanInput,
): readonly Deployment[] {
  const trustedFirst = distrustedLast(putServedLastFirst(deployments, servedLast), standing);
  return order === undefined ? trustedFirst : applyOrder(trustedFirst, order);
}

function chooseOwnKeys(controls: ProviderControls): OwnKeys {
  return controls.connections === "only" || !controls.allowFallbacks ? "only" : "first";
}

/** Adds copies with the caller's keys in front, as far as `provider.connections` permits. */
function withOwnKeys(
  deployments: readonly Deployment[],
  { controls, ownKeyOf }: Pick<PlanInput, "controls" | "ownKeyOf">,
): readonly Deployment[] {
  if (controls.connections === "never") return deployments;
  const own = ownKeyOf === undefined ? [] : deployments.flatMap((each) => ownKeyOf(each) ?? []);
  if (controls.connections === "only") return own;
  return own.length === 0 ? deployments : [...own, ...deployments];
}

/** Deployments with a problem that is only a preference come last. */
function* servable(
  ranked: readonly Deployment[],
  { servabilityProblem }: PlanInput,
): Generator<Deployment, undefined> {
  const late: Deployment[] = [];
  for (const deployment of ranked) {
    const problem = servabilityProblem(deployment);
    if (problem === undefined) yield deployment;
    else if (problem.isPreference === true) late.push(deployment);
  }
  yield* late;
}

/** Names the first condition that no deployment meets: able to serve, then priced, then healthy. */
function noCandidateRefusal(input: PlanInput, allowed: readonly Deployment[]): Refusal {
  const eligible = [...servable(allowed, input)];
  if (eligible.length === 0) {
    const reasons = allowed.flatMap((each) => input.servabilityProblem(each) ?? []);
    return invalidRequest(noDeploymentMessage(input.modelId, reasons));
  }
  if (eligible.every((each) => each.prices === null)) return notPriced(input.modelId);
  return allCooling(input.modelId);
}

/**
 * A model that is not served to the caller gets the same 404 as an unknown id. A key that may call
 * only some models is told so, whether the model is listed or not.
 */
export function unknownModel(modelId: string, keyModels?: ReadonlySet<string>): Refusal {
  const named = JSON.stringify(modelId.slice(0, 256));
  return keyModels?.has(modelId) === false
    ? refusal(
        "model_unavailable",
        `this key may not call model ${named}; GET /v1/models with it has the ids that it may call`,
        { limit: { scope: "key", kind: "models" }, figures: { limit: keyModels.size } },
      )
    : refusal("model_unavailable", `model ${named} is not listed; GET /v1/models has the ids`);
}

/** Names the `provider` control or policy that excludes the deployment; undefined if none does. */
function policyProblem(
  deployment: Deployment,
  { controls, policy = NO_POLICY }: Pick<PlanInput, "controls" | "policy">,
): string | undefined {
  const id: string = deployment.providerId;
  const only = controls.only ?? policy.only;
  if (only?.includes(id) === false) {
    return controls.only === undefined
      ? "the organization's routing policy does not name it in only"
      : "provider.only does not name it";
  }
  const ignore = controls.ignore ?? policy.ignore;
  if (ignore?.includes(id) === true) {
    return controls.ignore === undefined
      ? "the organization's routing policy ignores it"
      : "provider.ignore names it";
  }
  return policy.promptLogging === "none" && deployment.promptLogging !== "none"
    ? "it retains prompts, which the organization's routing policy forbids"
    : undefined;
}

const NO_POLICY: RoutingPolicy = {};

/** Puts the providers that `order` names first; the others keep their order after them. */
function applyOrder(
  deployments: readonly Deployment[],
  order: readonly string[],
): readonly Deployment[] {
  const rank = (each: Deployment): number => {
    const at = order.indexOf(each.providerId);
    return at === -1 ? order.length : at;
  };
  return deployments.toSorted((a, b) => rank(a) - rank(b));
}

/** Puts `servedLast` before equals: same priority and key owner, prices both old or both not. */
function putServedLastFirst(
  deployments: readonly Deployment[],
  servedLast: string | undefined,
): readonly Deployment[] {
  const at = deployments.findIndex(({ id }) => id === servedLast);
  const served = deployments[at];
  if (served === undefined) return deployments;
  const isEqual = (each: Deployment): boolean =>
    each.priority === served.priority &&
    (each.checked?.age === "old") === (served.checked?.age === "old") &&
    (each.ownKey === undefined) === (served.ownKey === undefined);
  const first = deployments.findIndex(isEqual);
  return deployments.toSpliced(at, 1).toSpliced(first, 0, served);
}

function keepTrusted(
  deployments: readonly Deployment[],
  standing: ListingStanding | undefined,
): readonly Deployment[] {
  if (standing === undefined || deployments.every((each) => standing.mayRoute(each))) {
    return deployments;
  }
  return deployments.filter((each) => standing.mayRoute(each));
}

/** Deployments with an own key keep their place: their answers say nothing about the listing. */
function distrustedLast(
  deployments: readonly Deployment[],
  standing: ListingStanding | undefined,
): readonly Deployment[] {
  if (standing === undefined || !deployments.some((each) => isTriedLast(each, standing))) {
    return deployments;
  }
  return [
    ...deployments.filter((each) => !isTriedLast(each, standing)),
    ...deployments.filter((each) => isTriedLast(each, standing)),
  ];
}

function isTriedLast(deployment: Deployment, standing: ListingStanding): boolean {
  return deployment.ownKey === undefined && standing.isDistrusted(deployment);
}

function notVerified(modelId: string): Refusal {
  return refusal(
    "model_unavailable",
    `no provider of ${modelId} that this request may use is verified at the moment; choose another model, or try again later`,
  );
}

function controlsExcludeAll({ controls, policy, modelId }: PlanInput): Refusal {
  const names = [
    ...(controls.only === undefined ? [] : ["provider.only"]),
    ...(controls.ignore === undefined ? [] : ["provider.ignore"]),
    ...(isPolicyOfUse(controls, policy) ? ["the organization's routing policy"] : []),
  ].join(" and ");
  return invalidRequest(
    `${names} leave${names.includes(" and ") ? "" : "s"} no provider of ${modelId}; GET /v1/models names its providers`,
  );
}

/** True if the policy restricts something that the request's own controls do not override. */
function isPolicyOfUse(controls: ProviderControls, policy: RoutingPolicy = NO_POLICY): boolean {
  return (
    policy.promptLogging !== undefined ||
    (controls.only === undefined && policy.only !== undefined) ||
    (controls.ignore === undefined && policy.ignore !== undefined)
  );
}

function wrongRoute(model: ListedModel): Refusal {
  return invalidRequest(
    `model ${model.id} makes ${model.modality === "text" ? "text" : `${model.modality} output`}; send it to ${ROUTE_OF_MODALITY[model.modality]}`,
  );
}

function notPriced(modelId: string): Refusal {
  return refusal(
    "model_not_priced",
    `model ${modelId} is listed without a price and is refused rather than served free; report it with the request id`,
  );
}

export function allCooling(modelId: string, which = ""): Refusal {
  return refusal(
    "gateway_error",
    `every provider of ${modelId}${which} is cooling down after failures; nothing was sent, retry in ${HEALTH_RETRY_AFTER_SECONDS} seconds`,
    {
      status: 503,
      origin: "gateway_infrastructure",
      limit: { scope: "model", kind: "health", id: `model:${modelId}` },
      retryAfterSeconds: HEALTH_RETRY_AFTER_SECONDS,
    },
  );
}

function toRefused(value: Refusal): PlanOutcome {
  return { kind: "refused", refusal: value };
}

/**
 * If a listing refuses for a reason other than the kind of a part, such as an image, that reason is
 * the most specific message. Otherwise the message names the kinds that the listings accept.
 */
function noDeploymentMessage(modelId: string, reasons: readonly Unservable[]): string {
  const declared = reasons.find(({ undeclared }) => undeclared === undefined);
  if (declared !== undefined) return declared.message;
  const taken = new Set(reasons.flatMap(({ undeclared }) => [...(undeclared?.taken ?? [])]));
  for (const { field, undeclared } of reasons) {
    if (undeclared === undefined || taken.has(undeclared.kind)) continue;
    const { kind } = undeclared;
    return (
      `${field} is a part of kind ${kind}; ${modelId} accepts ${[...taken].join(", ")}; ` +
      `send one of these or choose a model that accepts ${kind}`
    );
  }
  // Each part is accepted by some listing, but no listing accepts them all.
  return `no listing of ${modelId} accepts every part of this request; ${reasons[0]?.message}`;
}

/** How long a conversation is remembered: about as long as providers cache a prompt. */
const SERVED_MS = 300_000;
/** Above this number the oldest conversations are forgotten; they may lose their cached prompt. */
const CONVERSATIONS_MAX = 20_000;

/** Remembers which deployment served a conversation last: its provider has cached the prompt. */
export class Affinity extends ExpiringCache<string> {
  constructor() {
    super(SERVED_MS, CONVERSATIONS_MAX);
  }
}

/** Routing order sorts by age of prices, then by priority, so equals are neighbors. */
export function hasEquals({ deployments }: ListedModel): boolean {
  for (let at = 1; at < deployments.length; at += 1) {
    if (deployments[at]?.priority === deployments[at - 1]?.priority) return true;
  }
  return false;
}

/**
 * Plans a route, and states for every other deployment why it would not be tried. There are no
 * candidates if and only if there is a refusal.
 */
export function explainRoute(input: PlanInput) {
  const plan = planRoute(input);
  const candidates = plan.kind === "plan" ? [plan.first, ...plan.others()] : [];
  const isServed = input.model?.modality === input.modality;
  const listed = isServed ? input.model.deployments : [];
  const known = new Set([...withOwnKeys(listed, input), ...listed]);
  return {
    candidates,
    excluded: [...known]
      .filter((each) => !candidates.includes(each))
      .map((deployment) => ({ deployment, reason: exclusionReason(deployment, input) })),
    refusal: plan.kind === "refused" ? plan.refusal : undefined,
    ownKeys: plan.kind === "plan" ? plan.ownKeys : ("none" as const),
  };
}

function exclusionReason(deployment: Deployment, input: PlanInput): string {
  const forbidden = policyProblem(deployment, input);
  if (forbidden !== undefined) return forbidden;
  if (input.standing?.mayRoute(deployment) === false) return "its listing is not verified";
  if (deployment.ownKey === undefined && input.controls.connections === "only") {
    return 'provider.connections is "only"';
  }
  if (deployment.prices === null) return "it is listed without a price";
  if (!input.isHealthy(deployment)) return "it is cooling down after failures";
  const unservable = input.servabilityProblem(deployment);
  if (unservable !== undefined) return unservable.message;
  return "provider.allow_fallbacks is false, and another one is tried first";
}
