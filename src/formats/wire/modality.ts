import type { Deployment, ModalityId, WireId } from "../../catalog/index.ts";
import type { MicroUsd, RequestId, Result, EditedBytes } from "../../kernel/index.ts";
import type { AnswerBridge } from "./answer/answer-bridge.ts";
import type { FailedAnswer, UpstreamFailure } from "./failure/failures.ts";
import type { ProviderControls } from "./fields/common-fields.ts";

export type CallFamily = "chat" | "images" | "videos" | "decisions";

/**
 * A kind of answer that a client can ask for: a chat answer, images, a video, decisions. A folder
 * of `modality/` exports one such value; the way of a call is the same for all of them.
 */
export interface Modality<R extends CallRequest> {
  readonly modality: ModalityId;
  /** The name of its requests where a route takes or answers one: a dry run, a restriction. */
  readonly family: CallFamily;
  /** The wire of the request; absent if the modality has only one format. */
  readonly wire?: WireId;
  /** Reads and checks what the client sent. */
  read(client: ClientRequest): Result<{ readonly request: R }>;
  /** Why this deployment cannot serve the request as sent; undefined when it can. */
  servabilityProblem(request: R, deployment: Deployment): Unservable | undefined;
  encode(request: R, deployment: Deployment): Result<{ readonly upstream: UpstreamRequest }>;
  /** The bridge for a provider's 2xx. */
  openAnswer(request: R, deployment: Deployment, context: AnswerContext): AnswerBridge;
  /**
   * The most this request can cost at the deployment's prices (it has some), rounded up. With
   * `outputTokens` as if the client had bounded its output by so many, where it can bound it.
   */
  quote(request: R, deployment: Deployment, outputTokens?: number): MicroUsd;
  /** Input tokens for the token windows, where they depend on who may serve. */
  inputTokens?(request: R, deployments: readonly Deployment[]): number;
  /** The name of its time limits; absent for those of a stream or of a whole answer. */
  readonly timeouts?: "decisions" | "videoAccept";
  /** Classifies an answer that is not a usable 2xx; absent: as the chat wires do. */
  readonly classify?: (
    failed: FailedAnswer,
    deployment: Deployment,
    nowMs: number,
  ) => UpstreamFailure;
}

/** A client's request as it is read. */
export interface ClientRequest {
  readonly body: Buffer;
  /** A request header by lower-case name. */
  header(name: string): string | undefined;
}

/** The facts of a checked request that every modality states. */
export interface CallRequest {
  readonly modelId: string;
  readonly stream: boolean;
  readonly controls: ProviderControls;
  readonly droppedParams: readonly string[];
  readonly estimatedInputTokens: number;
  readonly outputTokens: number;
  /** Which conversation it belongs to; absent if its kind has none. */
  conversation?(): Conversation | undefined;
}

/**
 * The mark that requests of one conversation share: the caller's name for it, or the beginning of
 * its messages.
 */
export interface Conversation {
  readonly isNamed: boolean;
  readonly bytes: Buffer;
}

/** Why a deployment cannot serve a request as sent. */
export interface Unservable {
  readonly field: string;
  readonly message: string;
  /** The field is a part of a kind that the listing does not declare, and those that it does. */
  readonly undeclared?: { readonly kind: string; readonly taken: ReadonlySet<string> };
}

/** A request encoded for one deployment: everything dispatch needs to send it. */
export interface UpstreamRequest {
  /** Path below the deployment's base URL, with a leading slash. */
  readonly path: string;
  /** Names and values without the provider's key, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Never the client's own buffer, which is lent to others when the call has ended. */
  readonly body: Buffer | EditedBytes;
  /** It asks for cache writes of an hour, at their price; absent if none are owed. */
  readonly asksHourWrites?: true;
  /** Everything dropped on the way to this deployment, for `x-tm-dropped-params`. */
  readonly droppedParams: readonly string[];
}

export interface AnswerContext {
  readonly requestId: RequestId;
  /** Unix seconds for `created`. */
  readonly createdSeconds: number;
  /** The reserve of this attempt: some modalities do not deliver an answer that costs more. */
  readonly reserveMicroUsd: MicroUsd;
}
