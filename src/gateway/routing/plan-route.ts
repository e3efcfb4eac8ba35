import type { Deployment, ListedModel, ModalityId } from "../../catalog/index.ts";
import type { ProviderControls, Unservable } from "../../formats/index.ts";
import {
  ExpiringCache,
  HEALTH_RETRY_AFTER_SECONDS,
  invalidRequest,
  type Refusal,
  refusal,
} from "../../kernel/index.ts";

/** The deployments that may serve one request, in the order in which they are tried. */
export interface RoutePlan {
  readonly kind: "plan";
  /** Never empty. */
  readonly first: Deployment;
  /**
   * The candidates after the first. Each is checked for the request only when it is next, because
   * across wires the check costs as much as the translation.
   */
  readonly others: () => Generator<Deployment>;
  /** The role of the caller's own provider keys for this request. */
  readonly ownKeys: OwnKeys;
}

export type OwnKeys = "none" | "first" | "only";

/** The part of an organization's routing policy that chooses candidates. */
export interface PlanPolicy {
  /** The defaults of `provider.only` and `provider.ignore`. */
  readonly only?: readonly string[];
  readonly ignore?: readonly string[];
  readonly promptLogging?: "none";
}

export interface PlanInput {
  /** The id as the client sent it; echoed when it is unknown. */
  readonly modelId: string;
  readonly model: ListedModel | undefined;
  /** The models that the caller's key may call; undefined: all. */
  readonly keyModels?: ReadonlySet<string> | undefined;
  /** The modality that the route serves. */
  readonly modality: ModalityId;
  readonly controls: ProviderControls;
  readonly policy?: PlanPolicy;
  /** The copy of a deployment that uses the caller's own key, if the caller has one for it. */
  readonly ownKeyOf?: (deployment: Deployment) => Deployment | undefined;
  /** Why a deployment cannot serve this request as sent. */
  readonly servabilityProblem: (deployment: Deployment) => Unservable | undefined;
  /** False while the deployment's circuit keeps traffic away. */
  readonly isHealthy: (deployment: Deployment) => boolean;
  /** Id of the deployment that served this conversation last; tried first among equals. */
  readonly servedLast?: string | undefined;
  /** The trust in listings. Absent: every listing is trusted. */
  readonly standing?: ListingStanding;
}

/** How far a listing is trusted. */
export interface ListingStanding {
  /** False if verified listings are required and this one is not verified. */
  mayRoute(deployment: Deployment): boolean;
  /** True if live answers broke its promises: it is tried last among its model's deployments. */
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
 * Chooses the candidates of a request: listed, of the right modality, allowed by the `provider`
 * controls and the organization's policy, able to serve the request, priced, healthy. Customers'
 * keys come before the marketplace's, then the best priority, and among equals the one that served
 * this conversation last. The first filter that leaves no candidate determines the refusal.
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
  // No connection of the caller serves the model: it gets the same refusal as an unknown id.
  if (allowed.length === 0) return toRefused(unknownModel(modelId));
  const usable = allowed.filter((each) => each.prices !== null && input.isHealthy(each));
  const near = putServedLastFirst(usable, input.servedLast);
  const ranked = applyOrder(distrustedLast(near, input.standing), controls.order);
  const firstAt = ranked.findIndex((each) => input.servabilityProblem(each) === undefined);
  const first = ranked[firstAt];
  if (first === undefined) return toRefused(noCandidateRefusal(input, allowed));
  const rest = controls.allowFallbacks ? ranked.slice(firstAt + 1) : [];
  const ownKeys = chooseOwnKeys(first, controls);
  return { kind: "plan", first, others: () => servable(rest, input), ownKeys };
}

function chooseOwnKeys({ ownKey }: Deployment, controls: ProviderControls): OwnKeys {
  if (ownKey === undefined) return "none";
  return controls.connections === "only" || !controls.allowFallbacks ? "only" : "first";
}

/** The deployments as they may be called: with the caller's own keys, then the marketplace's. */
export function withOwnKeys(
  deployments: readonly Deployment[],
  { controls, ownKeyOf }: Pick<PlanInput, "controls" | "ownKeyOf">,
): readonly Deployment[] {
  if (controls.connections === "never") return deployments;
  const own = ownKeyOf === undefined ? [] : deployments.flatMap((each) => ownKeyOf(each) ?? []);
  if (controls.connections === "only") return own;
  return own.length === 0 ? deployments : [...own, ...deployments];
}

function* servable(rest: readonly Deployment[], input: PlanInput): Generator<Deployment> {
  for (const deployment of rest) {
    if (input.servabilityProblem(deployment) === undefined) yield deployment;
  }
}

/** The refusal of the first filter that leaves no candidate: able to serve, priced, healthy. */
function noCandidateRefusal(input: PlanInput, allowed: readonly Deployment[]): Refusal {
  const reasons = allowed.map((each) => input.servabilityProblem(each));
  const eligible = allowed.filter((_, at) => reasons[at] === undefined);
  const unservable = reasons.flatMap((reason) => reason ?? []);
  if (eligible.length === 0 && unservable.length > 0) {
    return invalidRequest(noDeploymentMessage(input.modelId, unservable));
  }
  if (eligible.every((each) => each.prices === null)) return notPriced(input.modelId);
  return allCooling(input.modelId);
}

/**
 * The 404 of a model id that is not listed, or listed but not served: the same message. If the key
 * may call only some models, the message says so, whether or not the id is listed.
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

/** The `provider` control or policy that keeps a deployment out; undefined when none does. */
export function policyProblem(
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

const NO_POLICY: PlanPolicy = {};

/** Puts the named providers first, in the given order; the others keep their order after them. */
function applyOrder(
  deployments: readonly Deployment[],
  order: readonly string[] | undefined,
): readonly Deployment[] {
  if (order === undefined) return deployments;
  const rank = (each: Deployment): number => {
    const at = order.indexOf(each.providerId);
    return at === -1 ? order.length : at;
  };
  return deployments.toSorted((a, b) => rank(a) - rank(b));
}

/**
 * Moves the deployment that served this conversation last before its equals: those with the same
 * priority, equally old prices and the same owner of the provider key.
 */
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

/** Returns the same list if all deployments are trusted, which is the usual case. */
function keepTrusted(
  deployments: readonly Deployment[],
  standing: ListingStanding | undefined,
): readonly Deployment[] {
  if (standing === undefined || deployments.every((each) => standing.mayRoute(each))) {
    return deployments;
  }
  return deployments.filter((each) => standing.mayRoute(each));
}

/**
 * Moves distrusted listings to the end. Candidates with the caller's own keys stay, because their
 * answers do not come from the listing.
 */
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

/** True if the policy restricts something that the request's own controls do not replace. */
function isPolicyOfUse(controls: ProviderControls, policy: PlanPolicy = NO_POLICY): boolean {
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

/** 503: every deployment that could serve the model keeps traffic away for its health. */
export function allCooling(modelId: string): Refusal {
  return refusal(
    "gateway_error",
    `every provider of ${modelId} is cooling down after failures; nothing was sent, retry in ${HEALTH_RETRY_AFTER_SECONDS} seconds`,
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
 * Builds one message for a request that no deployment of the model can serve, from the reasons of
 * each. A listing that declares its input kinds is more specific than one that does not; if none
 * declares them, the kinds of all listings are combined.
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
  // Each part is declared somewhere, but no listing declares them all.
  return `no listing of ${modelId} accepts every part of this request; ${reasons[0]?.message}`;
}

/** In milliseconds; about as long as providers keep a prompt in their caches. */
const SERVED_MS = 300_000;
/**
 * Beyond this number the oldest are dropped, at the cost of a cold cache for their next request.
 */
const CONVERSATIONS_MAX = 20_000;

/**
 * Remembers, in this process, which deployment served a conversation last. It is tried first among
 * equals, so that a conversation that had to move does not lose its cache by moving back.
 */
export class Affinity {
  readonly #served = new ExpiringCache<string>(SERVED_MS, CONVERSATIONS_MAX);

  /** Returns the id of the deployment. Times are monotonic. */
  servedLast(conversation: string, nowMs: number): string | undefined {
    return this.#served.get(conversation, nowMs);
  }

  note(conversation: string, deploymentId: string, nowMs: number): void {
    this.#served.set(conversation, deploymentId, nowMs);
  }
}

/** True if any two deployments have the same priority; they are in routing order. */
export function hasEquals({ deployments }: ListedModel): boolean {
  for (let at = 1; at < deployments.length; at += 1) {
    if (deployments[at]?.priority === deployments[at - 1]?.priority) return true;
  }
  return false;
}
