import type { Deployment } from "../../../catalog/index.ts";
import {
  floorToMicroUsd,
  IMAGE_ANSWER_OTHER_BYTES_MAX,
  IMAGE_BYTES_MAX,
  type PicoUsd,
  type Refusal,
  type ServedModel,
  readServedModel,
  type Usage,
} from "../../../kernel/index.ts";
import { type AnswerBridge, BaseBridge } from "../../wire/answer/answer-bridge.ts";
import type { AnswerContext } from "../../wire/modality.ts";
import type { AnswerFacts } from "../../wire/neutral/chat-answer.ts";
import { failedRead, FINAL, type ReadAnswer } from "../../wire/failure/failures.ts";
import { openaiChat } from "../../wire/openai-chat/index.ts";
import { ImageAnswerParser } from "./image-answer-parser.ts";
import {
  type ImageAnswer,
  readImageAnswer,
  tooLargeImagesFailure,
  unusableImagesFailure,
} from "./read-image-answer.ts";
import { declaredUsage, type ImageReport } from "./image-usage.ts";
import type { ParsedImageRequest } from "./parse-request.ts";

export interface OpenImageAnswer extends AnswerContext {
  readonly request: ParsedImageRequest;
  readonly deployment: Deployment;
  readonly costOf: (report: ImageReport) => PicoUsd | undefined;
}

/**
 * An answer must have exactly the requested images, as base64, and cost no more than the reserve.
 * It can be tens of megabytes long, so it is checked while it arrives and never joined: the client
 * gets the provider's base64 bytes inside newly written JSON. Before its end, an answer can fail
 * only by its size. A failed answer reports no usage and no cost.
 */
export class ImageBridge extends BaseBridge implements AnswerBridge {
  readonly #open: OpenImageAnswer;
  /** Undefined once the answer cannot become usable, and after its end. */
  #parser: ImageAnswerParser | undefined = new ImageAnswerParser();
  #bytes = 0;
  #answer: ImageAnswer | undefined;
  #facts: AnswerFacts | undefined;
  #isClosed = false;

  constructor(open: OpenImageAnswer) {
    super();
    this.#open = open;
  }

  get facts(): AnswerFacts | undefined {
    return this.#facts;
  }

  override get servedModel(): ServedModel | undefined {
    return readServedModel(this.#open.deployment, this.#answer?.model);
  }

  get declaredUsage(): Usage | undefined {
    const report = this.#answer?.report;
    const isSilent = report && report.usage === undefined && report.flaw === undefined;
    return isSilent ? declaredUsage(this.#open.request, this.#open.deployment) : undefined;
  }

  push(bytes: Buffer): void {
    if (this.state !== "waiting") return;
    this.#bytes += bytes.length;
    this.#parser?.push(bytes);
    const fileBytes = this.#parser?.fileBytes ?? 0;
    if (this.#bytes > ANSWER_BYTES_MAX || fileBytes > IMAGE_BYTES_MAX) {
      this.#conclude(failedRead(tooLargeImagesFailure()));
    } else if (this.#parser?.isUnusable === true) {
      // Further bytes are only counted: an answer above the maximum must fail as "too large".
      this.#parser = undefined;
    }
  }

  end(): void {
    if (this.state !== "waiting") return;
    const parser = this.#parser;
    const { request, deployment } = this.#open;
    const read = parser ? readImageAnswer(parser, request, deployment) : UNREADABLE;
    this.#conclude(read.ok && this.#costsTooMuch(read) ? ABOVE_RESERVE : read);
  }

  finish(costUsd: string): readonly Buffer[] {
    const answer = this.#answer;
    if (this.#isClosed || answer === undefined) return [];
    this.#isClosed = true;
    return writeAnswer(answer, this.#open, costUsd);
  }

  fail(refusal: Refusal): string {
    if (this.#isClosed) return "";
    this.#isClosed = true;
    this.#conclude(failedRead(this.failure ?? { refusal, ...FINAL }));
    return openaiChat.errorBody(refusal, this.#open.requestId);
  }

  #conclude(result: ReadAnswer<ImageAnswer>): void {
    this.#parser = undefined;
    this.#answer = result.ok ? result : undefined;
    const report = this.#answer?.report;
    this.#facts = report && { report: { ...report, reportedCostUsd: report.costUsd } };
    this.failure = result.ok ? undefined : result.failure;
  }

  #costsTooMuch({ report }: ImageAnswer): boolean {
    const cost = this.#open.costOf(report);
    return cost !== undefined && floorToMicroUsd(cost) > this.#open.reserveMicroUsd;
  }
}

/** Maximum bytes of an answer: the images as base64 without escapes, and the rest of its JSON. */
const ANSWER_BYTES_MAX = Math.ceil(IMAGE_BYTES_MAX / 3) * 4 + IMAGE_ANSWER_OTHER_BYTES_MAX;

const ABOVE_RESERVE = failedRead(
  unusableImagesFailure("the provider reported a higher cost than this request can have"),
);
const UNREADABLE = failedRead(unusableImagesFailure());

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
