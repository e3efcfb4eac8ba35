import type { Deployment } from "../../catalog/catalog.ts";
import type { RequestId } from "../../core/ids.ts";
import type { Refusal } from "../../core/refusals.ts";
import type { MicroUsd, PicoUsd } from "../../core/money.ts";
import type { AnswerBridge } from "../../wire/answer/answer-bridge.ts";
import type { ProviderControls } from "../../wire/fields/provider-controls.ts";
import type { Unservable } from "../../wire/chat-wire.ts";
import type { UpstreamRequest } from "../../wire/upstream-request.ts";
import type { ImageReport } from "./image-usage.ts";

/** An image request whose shape was checked; what a listing takes is checked per deployment. */
export interface ImageRequest {
  readonly modelId: string;
  readonly stream: false;
  readonly controls: ProviderControls;
  readonly droppedParams: readonly string[];
  /** Images asked for: 1 to 4. */
  readonly count: number;
  /** One per UTF-8 byte of the body. */
  readonly estimatedInputTokens: number;
  /** 0: images are not counted as output tokens before they are observed. */
  readonly outputTokens: number;
}

export interface OpenImageAnswer {
  readonly request: ImageRequest;
  readonly deployment: Deployment;
  readonly requestId: RequestId;
  readonly createdSeconds: number;
  /** What the answer may cost at most: one that reports more is not delivered. */
  readonly reserveMicroUsd: MicroUsd;
  /** What it will cost by what the provider reported; undefined when that names no cost. */
  readonly costOf: (report: ImageReport) => PicoUsd | undefined;
}

/** What `images/` offers the folders above. */
export interface ImageWire {
  readImageRequest(body: Buffer): ImageRequest | Refusal;
  whyUnservable(request: ImageRequest, deployment: Deployment): Unservable | undefined;
  encode(request: ImageRequest, deployment: Deployment): UpstreamRequest | Refusal;
  /** All or nothing: exactly as many images as were asked for, as base64, within the reserve. */
  openAnswer(open: OpenImageAnswer): AnswerBridge;
}
