import type { CallFamily } from "../auth/account-rules.ts";
import type { Deployment, Modality, PriceSheet } from "../catalog/catalog.ts";
import type { RequestId } from "../core/ids.ts";
import type { MicroUsd } from "../core/money.ts";
import type { Refusal } from "../core/refusals.ts";
import type { AnswerBridge } from "../wires/chat/answer-bridge.ts";
import type { ProviderControls } from "../wires/chat/chat-request.ts";
import type { Unservable } from "../wires/chat/chat-wire.ts";
import type { UpstreamRequest } from "../wires/chat/upstream-request.ts";
import type { ClientExchange } from "./client-exchange.ts";

/** What every kind of call tells the recipe about its checked request. */
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
}

/**
 * One kind of call that is answered in one exchange: chat on either wire, and later images and
 * decisions. The recipe is the same for all; a kind only knows its own words and its own quote.
 */
export interface CallKind<R extends CallRequest> {
  readonly modality: Modality;
  /** What unusual use is looked for by. */
  readonly family: CallFamily;
  read(exchange: ClientExchange): R | Refusal;
  whyUnservable(request: R, deployment: Deployment): Unservable | undefined;
  encode(request: R, deployment: Deployment): UpstreamRequest | Refusal;
  openAnswer(request: R, deployment: Deployment, context: AnswerContext): AnswerBridge;
  /** The most this request can cost at these prices, rounded up. */
  quote(request: R, prices: PriceSheet): MicroUsd;
}

export function isRefusal(value: object): value is Refusal {
  return "class" in value;
}
