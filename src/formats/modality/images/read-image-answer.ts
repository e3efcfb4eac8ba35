import { isUtf8 } from "node:buffer";

import { asObject, tryParse } from "../../../kernel/index.ts";
import { classifyEmbeddedError } from "../../wire/failure/classify-failure.ts";
import { countOf } from "../../wire/neutral/usage-report.ts";
import { failedRead, type ReadAnswer } from "../../wire/failure/upstream-failure.ts";
import type { Base64Text } from "./base64-text.ts";
import type { ImageAnswerParser } from "./image-answer-parser.ts";
import { moderatedImagesFailure, unusableImagesFailure } from "./image-failures.ts";
import { type ImageReport, readImageReport } from "./image-usage.ts";
import { mediaTypeOf } from "./media-type.ts";
import { saysModerated } from "./moderation-flag.ts";

/** An answer with exactly the images that were requested. */
export interface ImageAnswer {
  readonly created: number | undefined;
  readonly images: readonly AnsweredImage[];
  readonly echoed: Readonly<Record<string, string>>;
  readonly report: ImageReport;
  /** As reported. */
  readonly model: unknown;
}

export interface AnsweredImage {
  readonly text: Base64Text;
  readonly mediaType: string;
  readonly revisedPrompt: string | undefined;
}

export interface AskedImages {
  readonly count: number;
  /** The format that the caller asked for; empty when it named none. */
  readonly outputFormat: string;
}

/** Reads a complete answer: all images that were requested, or the failure. */
export function readImageAnswer(
  parser: ImageAnswerParser,
  asked: AskedImages,
): ReadAnswer<ImageAnswer> {
  const rest = textOf(parser.rest());
  const answer = asObject(tryParse(rest)?.value);
  if (answer === undefined) {
    return failedRead(unusableImagesFailure("the provider's answer could not be read"));
  }
  const { error, data } = answer;
  if (error !== undefined && error !== null && error !== false) {
    return failedRead(classifyEmbeddedError(answer));
  }
  const items: readonly unknown[] = Array.isArray(data) ? data : [];
  // A provider can put thousands of entries into an answer: only as many count as were asked for.
  const counted = items.slice(0, asked.count);
  const images = counted.flatMap((item) => imageOf(item, parser.texts, asked.outputFormat) ?? []);
  if (images.length !== asked.count || items.length !== asked.count) {
    // Content that was refused in part is not sent to another provider either.
    if (images.length < asked.count && saysModerated(answer, counted)) {
      return failedRead(moderatedImagesFailure());
    }
    const found =
      `the provider answered with ${images.length} usable images of ${items.length}, ` +
      `${asked.count} were requested`;
    return failedRead(unusableImagesFailure(found));
  }
  return {
    ok: true,
    created: countOf(answer["created"]),
    images,
    echoed: echoedOf(answer),
    report: readImageReport(answer, rest),
    model: answer["model"],
  };
}

/** Empty, which is not JSON, when the bytes are not text. */
function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) return "";
  const text = bytes.toString("utf8");
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}

const BYTE_ORDER_MARK = "\uFEFF";

function imageOf(
  item: unknown,
  texts: readonly Base64Text[],
  outputFormat: string,
): AnsweredImage | undefined {
  const fields = asObject(item);
  const number = fields?.["b64_json"];
  // The carver left the number of the text in its place, and only its own are strings.
  const text = typeof number === "string" ? texts[Number(number)] : undefined;
  if (text === undefined || !text.isFile) return undefined;
  const mediaType = mediaTypeOf(text.firstBytes, outputFormat);
  if (mediaType === undefined) return undefined;
  return { text, mediaType, revisedPrompt: rewordingOf(fields?.["revised_prompt"]) };
}

const REVISED_PROMPT_CHARS_MAX = 32_000;

/** An empty one is what some hosts answer when they changed nothing. */
function rewordingOf(value: unknown): string | undefined {
  const isOne = typeof value === "string" && value !== "";
  return isOne && value.length <= REVISED_PROMPT_CHARS_MAX ? value : undefined;
}

/** What providers repeat of the request, with what they chose where it left that to them. */
const ECHOED = ["size", "quality", "background", "output_format", "aspect_ratio", "resolution"];
const ECHOED_CHARS_MAX = 64;

function echoedOf(answer: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const echoed: Record<string, string> = {};
  for (const name of ECHOED) {
    const value = answer[name];
    if (typeof value === "string" && value.length <= ECHOED_CHARS_MAX) echoed[name] = value;
  }
  return echoed;
}
