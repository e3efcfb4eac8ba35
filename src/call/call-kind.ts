import type { CallFamily } from "../accounts/account-rules.ts";
import type { Deployment, ListedModel, Modality } from "../catalog/catalog.ts";
import type { RequestId } from "../core/ids.ts";
import type { MicroUsd } from "../core/money.ts";
import type { Refusal } from "../core/refusals.ts";
import type { AttemptClassifier, AttemptTimeouts } from "../dispatch/run-attempt.ts";
import type { ReserveRow } from "../ledger/ledger-store.ts";
import { tokenCount, type TokenCount } from "../limits/limit-store.ts";
import type { AnswerBridge, Output } from "../wire/answer/answer-bridge.ts";
import type { ProviderControls } from "../wire/fields/provider-controls.ts";
import type { Unservable } from "../wire/chat-wire.ts";
import type { UpstreamRequest } from "../wire/upstream-request.ts";
import type { ClientExchange } from "./client-exchange.ts";
import type { CallTimeouts } from "./ports.ts";

/** What the recipe knows from every kind of call about its checked request. */
export interface CallRequest {
  readonly modelId: string;
  readonly stream: boolean;
  readonly controls: ProviderControls;
  readonly droppedParams: readonly string[];
  readonly estimatedInputTokens: number;
  readonly outputTokens: number;
}

/** A candidate with the request encoded for it. */
export interface Step {
  readonly deployment: Deployment;
  readonly upstream: UpstreamRequest;
}

export interface AnswerContext {
  readonly requestId: RequestId;
  readonly createdSeconds: number;
  /** What was held for this attempt: an answer that costs more is not delivered by some kinds. */
  readonly reserveMicroUsd: MicroUsd;
}

/** An attempt whose provider has accepted a job that continues after the answer. */
export interface AcceptedJob {
  readonly bridge: AnswerBridge;
  readonly reserve: ReserveRow;
  readonly deployment: Deployment;
  readonly startedAtMs: number;
}

/**
 * One kind of call that is answered in one exchange: chat on either wire, and later images and
 * decisions. The recipe is the same for all; a kind only knows its own format and its own quote.
 */
export interface CallKind<R extends CallRequest> {
  readonly modality: Modality;
  read(exchange: ClientExchange): R | Refusal;
  whyUnservable(request: R, deployment: Deployment): Unservable | undefined;
  encode(request: R, deployment: Deployment): UpstreamRequest | Refusal;
  openAnswer(request: R, deployment: Deployment, context: AnswerContext): AnswerBridge;
  /** The most this request can cost at the deployment's prices (it has some), rounded up. */
  quote(request: R, deployment: Deployment): MicroUsd;
  /** Tokens for the token windows, where they depend on who may serve; else the request's own. */
  tokens?(request: R, deployments: readonly Deployment[]): TokenCount;
  /** Time limits of one attempt; the generation's own when it says nothing. */
  timeouts?(timeouts: CallTimeouts): AttemptTimeouts;
  /** How failures of this deployment are named; the chat wires' way when it says nothing. */
  classifier?(base: AttemptClassifier, deployment: Deployment): AttemptClassifier;
  /**
   * Kinds whose attempt stays open after the answer (videos): makes the job durable and gives the
   * client's body. A refusal closes the attempt, and nothing is owed.
   */
  accept?(job: AcceptedJob): Promise<Output | Refusal>;
}

const FAMILIES: Readonly<Record<Modality, CallFamily>> = {
  text: "chat",
  image: "images",
  video: "videos",
  decisions: "decisions",
};

/** What unusual use is detected by. */
export function familyOf({ modality }: { readonly modality: Modality }): CallFamily {
  return FAMILIES[modality];
}

/** The estimate that the token windows are claimed by. */
export function callTokens<R extends CallRequest>(
  kind: CallKind<R>,
  request: R,
  model: ListedModel | undefined,
): TokenCount {
  return (
    kind.tokens?.(request, model?.deployments ?? []) ??
    tokenCount(request.estimatedInputTokens, request.outputTokens)
  );
}

export function isRefusal(value: object): value is Refusal {
  return "class" in value;
}
