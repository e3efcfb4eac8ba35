import type { Deployment, ModalityId, WireId } from "../../catalog/index.ts";
import type { MicroUsd, RequestId, Result, EditedBytes } from "../../kernel/index.ts";
import type { AnswerBridge } from "./answer/answer-bridge.ts";
import type { FailedAnswer, UpstreamFailure } from "./failure/failures.ts";
import type { ProviderControls } from "./fields/common-fields.ts";

export type CallFamily = "chat" | "images" | "videos" | "decisions";

/**
 * A kind of answer that a client can request: chat, images, a video, decisions. A folder of
 * `modality/` exports one such value; a call takes the same steps for all of them.
 */
export interface Modality<R extends CallRequest> {
  readonly modality: ModalityId;
  /** Its name in public routes, such as the dry run and restrictions. */
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
   * The most this request can cost at the prices of the deployment, which must have some, rounded
   * up. `outputTokens` replaces the client's output bound, if the modality has one.
   */
  quote(request: R, deployment: Deployment, outputTokens?: number): MicroUsd;
  /** Input tokens for token windows; absent: `estimatedInputTokens`, whoever may serve. */
  inputTokens?(request: R, deployments: readonly Deployment[]): number;
  /** Its own time limits; absent: those of a stream or of a whole answer. */
  readonly timeouts?: "decisions" | "videoAccept";
  /** Classifies an answer that is not a usable 2xx; absent: `classifyFailure`. */
  readonly classify?: (
    failed: FailedAnswer,
    deployment: Deployment,
    nowMs: number,
  ) => UpstreamFailure;
}

/** The parts of a client's request that a modality reads. */
export interface ClientRequest {
  readonly body: Buffer;
  /** A request header by lower-case name. */
  header(name: string): string | undefined;
}

/** The facts of a checked request that every modality provides. */
export interface CallRequest {
  readonly modelId: string;
  readonly stream: boolean;
  readonly controls: ProviderControls;
  readonly droppedParams: readonly string[];
  readonly estimatedInputTokens: number;
  readonly outputTokens: number;
  /** The conversation of the request; absent if the modality has none. */
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
  /** Set if the field is a media part of a kind that the listing does not have in `taken`. */
  readonly undeclared?: { readonly kind: string; readonly taken: ReadonlySet<string> };
}

/** A request encoded for one deployment: everything dispatch needs to send it. */
export interface UpstreamRequest {
  /** Path below the deployment's base URL, with a leading slash. */
  readonly path: string;
  /** Names and values without the provider's key, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Never the client's own buffer, which is reused when the call has ended. */
  readonly body: Buffer | EditedBytes;
  /** Set if the request asks for hour-long cache writes at a price of their own. */
  readonly asksHourWrites?: true;
  /** Names of all fields dropped for this deployment, for `x-tm-dropped-params`. */
  readonly droppedParams: readonly string[];
}

export interface AnswerContext {
  readonly requestId: RequestId;
  /** Unix seconds for `created`. */
  readonly createdSeconds: number;
  /** The reserve of this attempt: some modalities do not deliver an answer that costs more. */
  readonly reserveMicroUsd: MicroUsd;
}
