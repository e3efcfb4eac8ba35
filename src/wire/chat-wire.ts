import type { Deployment, WireId } from "../catalog/catalog.ts";
import type { RequestId } from "../core/ids.ts";
import type { Refusal } from "../core/refusals.ts";
import type { AnswerBridge } from "./answer/answer-bridge.ts";
import type { ChatRequest } from "./chat-request.ts";
import type { UpstreamRequest } from "./upstream-request.ts";

export interface ChatRequestInput {
  readonly body: Buffer;
  /** Value of the beta header of wire_b, where the client sent one. */
  readonly betaHeader?: string;
}

export interface OpenAnswer {
  readonly request: ChatRequest;
  readonly deployment: Deployment;
  readonly requestId: RequestId;
  /** Unix seconds for `created`. */
  readonly createdSeconds: number;
}

/** Why a deployment cannot serve a request as sent. */
export interface Unservable {
  readonly field: string;
  readonly message: string;
  /** The field is a part of a kind that the listing does not declare, and those that it does. */
  readonly undeclared?: { readonly kind: string; readonly taken: ReadonlySet<string> };
}

/**
 * What `registry.ts` offers the folders above; which wire speaks to which is decided in `wires/`.
 *
 * - `readChatRequest(wire, input)`: bytes to a checked request, or the refusal that names the field.
 * - `whyUnservable(request, deployment)`: eligibility, before any translation.
 * - `encodeForDeployment(request, deployment)`: spliced bytes on the same wire, translation across.
 *   A refusal here means that the content itself cannot be translated (rare: found only by
 *   translating).
 * - `openAnswer(open)`: the bridge for the provider's 2xx.
 */
export interface ChatWires {
  readChatRequest(wire: WireId, input: ChatRequestInput): ChatRequest | Refusal;
  whyUnservable(request: ChatRequest, deployment: Deployment): Unservable | undefined;
  encodeForDeployment(request: ChatRequest, deployment: Deployment): UpstreamRequest | Refusal;
  openAnswer(open: OpenAnswer): AnswerBridge;
}
