import type { Deployment, ModalityId, WireId } from "../../catalog/index.ts";
import type { MicroUsd, RequestId, Result, EditedBytes } from "../../kernel/index.ts";
import type { AnswerBridge } from "./answer/answer-bridge.ts";
import type { FailedAnswer, UpstreamFailure } from "./failure/failures.ts";
import type { AskedBound, ProviderControls } from "./fields/common-fields.ts";

export type CallFamily = "chat" | "images" | "videos" | "decisions";

/** A kind of request, exported by its folder of `modality/` (`chat/` makes one for each wire). */
export interface Modality<R extends CallRequest> {
  readonly modality: ModalityId;
  /** The modality's name in public routes, such as the dry run, and in abuse restrictions. */
  readonly family: CallFamily;
  /** The client's wire; absent: the modality has only one format. */
  readonly wire?: WireId;
  read(client: ClientRequest): Result<{ readonly request: R }>;
  servabilityProblem(request: R, deployment: Deployment): Unservable | undefined;
  encode(request: R, deployment: Deployment): Result<{ readonly upstream: UpstreamRequest }>;
  openAnswer(request: R, deployment: Deployment, context: AnswerContext): AnswerBridge;
  /**
   * The most that the request can cost, rounded up. The deployment must have prices. `outputTokens`
   * replaces the client's output bound, if the modality has one.
   */
  quote(request: R, deployment: Deployment, outputTokens?: number): MicroUsd;
  /** The input tokens to claim from token rate limits; absent: `estimatedInputTokens`. */
  inputTokens?(request: R, deployments: readonly Deployment[]): number;
  /** Which configured time limits apply; absent: the limits of a stream or of a whole answer. */
  readonly timeouts?: "decisions" | "videoAccept";
  /** Classifies an answer that is no usable 2xx, or is compressed; absent: `classifyFailure`. */
  readonly classify?: (
    failed: FailedAnswer,
    deployment: Deployment,
    nowMs: number,
  ) => UpstreamFailure;
}

export interface ClientRequest {
  readonly body: Buffer;
  header(name: string): string | undefined;
}

export interface CallRequest extends AskedBound {
  readonly modelId: string;
  readonly stream: boolean;
  readonly controls: ProviderControls;
  readonly droppedParams: readonly string[];
  readonly estimatedInputTokens: number;
  /** The number of log-probability entries for each output token of the answer; absent: none. */
  readonly logprobsPerToken?: number;
  /** Absent: the modality has no conversations. */
  conversation?(): Conversation | undefined;
}

/**
 * The client's name for the conversation (`isNamed`), or the first bytes of its messages. Of
 * equally good deployments, routing prefers the one that served the conversation last, because its
 * provider may have cached the prompt.
 */
export interface Conversation {
  readonly isNamed: boolean;
  readonly bytes: Buffer;
}

export interface Unservable {
  readonly field: string;
  readonly message: string;
  /** True if the listing can serve the request, but others are tried before it. */
  readonly isPreference?: true;
  /** Set for a media part of a kind that the listing refuses; `taken` are the accepted kinds. */
  readonly undeclared?: { readonly kind: string; readonly taken: ReadonlySet<string> };
}

export interface UpstreamRequest {
  /** A path below the deployment's base URL, with a leading slash. */
  readonly path: string;
  /** Header names in lower case. The header with the provider's key is not among them. */
  readonly headers: Readonly<Record<string, string>>;
  /** Not the client's own buffer, which is reused after the call; `EditedBytes` copies from it. */
  readonly body: Buffer | EditedBytes;
  /** Set if the request asks for cache writes that last an hour and the listing prices those. */
  readonly asksHourWrites?: true;
  /** All fields that this deployment does not get, reported in `x-tm-dropped-params`. */
  readonly droppedParams: readonly string[];
}

export interface AnswerContext {
  readonly requestId: RequestId;
  readonly createdSeconds: number;
  /** Some modalities do not deliver an answer that costs more than this reserve. */
  readonly reserveMicroUsd: MicroUsd;
}
