import type { Deployment } from "../../catalog/catalog.ts";
import type { PicoUsd } from "../../core/money.ts";
import type { Refusal } from "../../core/refusals.ts";
import type { AnswerBridge } from "../../wire/answer/answer-bridge.ts";
import type { ProviderControls } from "../../wire/fields/provider-controls.ts";
import type { Unservable } from "../../wire/chat-wire.ts";
import type { UpstreamRequest } from "../../wire/upstream-request.ts";

/** A video request whose shape was checked; what a listing takes is checked per deployment. */
export interface VideoRequest {
  readonly modelId: string;
  readonly stream: false;
  readonly controls: ProviderControls;
  readonly droppedParams: readonly string[];
  readonly prompt: string;
  /** Undefined: the listing's default. */
  readonly seconds: number | undefined;
  /** `resolution`, `aspect_ratio`, `size`, `generate_audio` as sent. */
  readonly options: Readonly<Record<string, string | boolean>>;
  readonly estimatedInputTokens: number;
  /** 0: seconds are not tokens. */
  readonly outputTokens: number;
}

export type ProviderJobState =
  | "queued"
  | "in_progress"
  | "completed"
  | "failed"
  /** Refused by the provider's moderation. */
  | "refused"
  | "cancelled"
  | "expired"
  /** An unknown state. */
  | "unknown";

/** What a provider says of its job, in one form whatever its dialect. */
export interface ProviderJob {
  readonly id: string | undefined;
  readonly state: ProviderJobState;
  /** 0 to 100. */
  readonly progress: number | undefined;
  /** What it reports to have cost; read from the raw text. */
  readonly costPicoUsd: PicoUsd | undefined;
  readonly expiresAtMs: number | undefined;
  /** The model's name as reported, whatever was reported. */
  readonly model: unknown;
}

/** The bridge of an accept call: besides carrying nothing to the client it has read the job. */
export interface VideoAcceptBridge extends AnswerBridge {
  /** Set exactly when `state` is `complete`; it has an id. */
  readonly job: ProviderJob | undefined;
  /** What was asked for: the seconds that were written upstream. */
  readonly seconds: number;
  readonly options: VideoRequest["options"];
}

/** What `videos/` offers the folders above. */
export interface VideoWire {
  /** `contentType`: the header, where there is one; a form is refused by its name. */
  readVideoRequest(body: Buffer, contentType?: string): VideoRequest | Refusal;
  whyUnservable(request: VideoRequest, deployment: Deployment): Unservable | undefined;
  /** The seconds that are asked for on this deployment: those sent, else the listing's default. */
  secondsOf(request: VideoRequest, deployment: Deployment): number;
  encode(request: VideoRequest, deployment: Deployment): UpstreamRequest | Refusal;
  openAccept(request: VideoRequest, deployment: Deployment): VideoAcceptBridge;
  /** Path under the base address by which a job is asked after, and its file fetched. */
  jobPath(deployment: Deployment, providerJobId: string): string;
  contentPath(deployment: Deployment, providerJobId: string): string;
  /** A job's record as the provider answers it; undefined: not one. */
  readJob(body: Buffer): ProviderJob | undefined;
}
