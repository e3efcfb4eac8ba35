import { imageAnswerRestBytesMax, imageBytesMax } from "../../core/constants.ts";
import { floorToMicroUsd } from "../../core/money.ts";
import type { Refusal } from "../../core/refusals.ts";
import { type ServedModel, servedModelOf } from "../../core/served-model.ts";
import type { Usage } from "../../core/usage.ts";
import type { AnswerBridge, BridgeState } from "../../wire/answer/answer-bridge.ts";
import { isFailure } from "../../wire/neutral/chat-answer.ts";
import type { UpstreamFailure } from "../../wire/failure/upstream-failure.ts";
import { renderErrorBody } from "../../wire/error-body.ts";
import { AnswerCarver } from "./answer-carver.ts";
import { tooLargeImagesFailure, unusableImagesFailure } from "./image-failures.ts";
import type { OpenImageAnswer } from "./image-wire.ts";
import { type AskedImages, type ImageAnswer, readImageAnswer } from "./read-image-answer.ts";

/**
 * The images side of `AnswerBridge`. An answer can have tens of megabytes: it is checked while it
 * passes and never put together; the client gets the provider's own bytes of each image between
 * newly written JSON. Only size fails an answer before its end. A failed one reports no usage and
 * no cost, because it costs nothing.
 */
export class ImageBridge implements AnswerBridge {
  readonly contentType = "application/json";
  readonly #open: OpenImageAnswer;
  readonly #asked: AskedImages;
  /** Undefined once nothing can make the answer usable, and from its end on. */
  #carver: AnswerCarver | undefined = new AnswerCarver();
  #bytes = 0;
  #answer: ImageAnswer | undefined;
  #failure: UpstreamFailure | undefined;
  #isClosed = false;

  constructor(open: OpenImageAnswer, asked: AskedImages) {
    this.#open = open;
    this.#asked = asked;
  }

  get state(): BridgeState {
    if (this.#failure !== undefined) return "failed";
    return this.#answer === undefined ? "waiting" : "complete";
  }

  get usage(): Usage | undefined {
    return this.#answer?.report.usage;
  }

  get reportedCostUsd(): string | undefined {
    return this.#answer?.report.costUsd;
  }

  get servedModel(): ServedModel | undefined {
    return servedModelOf(this.#open.deployment, this.#answer?.model);
  }

  get failure(): UpstreamFailure | undefined {
    return this.#failure;
  }

  push(bytes: Buffer): void {
    if (this.state !== "waiting") return;
    this.#bytes += bytes.length;
    this.#carver?.push(bytes);
    const fileBytes = this.#carver?.fileBytes ?? 0;
    if (this.#bytes > ANSWER_BYTES_MAX || fileBytes > imageBytesMax) {
      this.#conclude(tooLargeImagesFailure());
    } else if (this.#carver?.isHopeless === true) {
      // Reading continues: too large is reported before anything else, wherever the fault is.
      this.#carver = undefined;
    }
  }

  end(): void {
    if (this.state !== "waiting") return;
    const carver = this.#carver;
    const read =
      carver === undefined
        ? unusableImagesFailure("the provider's answer could not be read")
        : readImageAnswer(carver, this.#asked);
    this.#conclude(isFailure(read) || !this.#costsTooMuch(read) ? read : ABOVE_RESERVE);
  }

  takeOutput(): undefined {
    return undefined;
  }

  finish(costUsd: string): readonly Buffer[] {
    const answer = this.#answer;
    if (this.#isClosed || answer === undefined) return [];
    this.#isClosed = true;
    return writeAnswer(answer, this.#open, costUsd);
  }

  fail(refusal: Refusal): Buffer {
    if (this.#isClosed) return Buffer.alloc(0);
    this.#isClosed = true;
    this.#conclude(this.#failure ?? { refusal, failover: false, strike: "neutral" });
    return renderErrorBody("wire_a", refusal, this.#open.requestId);
  }

  keepAlive(): undefined {
    return undefined;
  }

  #conclude(result: ImageAnswer | UpstreamFailure): void {
    this.#carver = undefined;
    this.#answer = isFailure(result) ? undefined : result;
    this.#failure = isFailure(result) ? result : undefined;
  }

  #costsTooMuch({ report }: ImageAnswer): boolean {
    const cost = this.#open.costOf(report);
    return cost !== undefined && floorToMicroUsd(cost) > this.#open.reserveMicroUsd;
  }
}

/** Base64 of the images and all the rest; white space and escapes are the provider's own loss. */
const ANSWER_BYTES_MAX = Math.ceil(imageBytesMax / 3) * 4 + imageAnswerRestBytesMax;

const ABOVE_RESERVE = unusableImagesFailure(
  "the provider reported a higher cost than this request can have",
);

/** The client's answer, in pieces: the bytes of an image are the ones that the provider sent. */
function writeAnswer(
  { created, images, echoed, report }: ImageAnswer,
  { deployment, createdSeconds }: OpenImageAnswer,
  costUsd: string,
): readonly Buffer[] {
  const pieces: Buffer[] = [];
  const model = JSON.stringify(deployment.modelId);
  let text = `{"created":${created ?? createdSeconds},"model":${model},"data":[`;
  for (const [at, image] of images.entries()) {
    pieces.push(Buffer.from(`${text}${at === 0 ? "" : ","}{"b64_json":"`));
    for (const piece of image.text.pieces()) pieces.push(piece);
    const { mediaType, revisedPrompt } = image;
    text = `","media_type":"${mediaType}"`;
    if (revisedPrompt !== undefined) text += `,"revised_prompt":${JSON.stringify(revisedPrompt)}`;
    text += "}";
  }
  text += "]";
  for (const [name, value] of Object.entries(echoed)) text += `,"${name}":${JSON.stringify(value)}`;
  text += `,"usage":{${[...report.counts, `"cost":${costUsd}`].join(",")}}}`;
  pieces.push(Buffer.from(text));
  return pieces;
}
