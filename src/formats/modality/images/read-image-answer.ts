import { isUtf8 } from "node:buffer";

import type { Deployment } from "../../../catalog/index.ts";
import { asObject, asText, textOf, tryParse } from "../../../kernel/index.ts";
import { classifyEmbeddedError } from "../../wire/failure/classify-failure.ts";
import { extractErrorText } from "../../wire/failure/provider-message.ts";
import {
  failedRead,
  FINAL,
  hasError,
  type ReadAnswer,
  STRUCK,
  type UpstreamFailure,
  upstreamFailure,
} from "../../wire/failure/failures.ts";
import { contentPolicyWording, matchesWording } from "../../wire/failure/wording.ts";
import { decodeBody } from "../../wire/neutral/chat-answer.ts";
import { asCount, type Fields } from "../../wire/neutral/usage-report.ts";
import type { Base64Text, ImageAnswerParser } from "./image-answer-parser.ts";
import { type ImageReport, readImageReport, withoutEmptyUsage } from "./image-usage.ts";
import type { ParsedImageRequest } from "./parse-request.ts";

export interface ImageAnswer {
  readonly created: number | undefined;
  readonly images: readonly AnsweredImage[];
  readonly echoed: Readonly<Record<string, string>>;
  readonly report: ImageReport;
  readonly model: unknown;
}

export interface AnsweredImage {
  readonly text: Base64Text;
  readonly mediaType: string;
  readonly revisedPrompt: string | undefined;
}

export function readImageAnswer(
  parser: ImageAnswerParser,
  asked: Pick<ParsedImageRequest, "count" | "outputFormat">,
  deployment: Pick<Deployment, "billing">,
): ReadAnswer<ImageAnswer> {
  const bytes = parser.rest();
  const rest = isUtf8(bytes) ? decodeBody(bytes) : "";
  const answer = asObject(tryParse(rest)?.value);
  if (answer === undefined) return failedRead(unusableImagesFailure());
  const { error, data } = answer;
  if (hasError(error)) return failedRead(classifyEmbeddedError(answer));
  const items: readonly unknown[] = Array.isArray(data) ? data : [];
  // An answer can have thousands of entries, so only as many as were requested are read.
  const counted = items.slice(0, asked.count);
  const images = counted.flatMap(
    (item) => toAnsweredImage(item, parser.texts, asked.outputFormat) ?? [],
  );
  if (images.length !== asked.count || items.length !== asked.count) {
    // After a content refusal, even of a single image, no other provider is tried.
    if (images.length < asked.count && saysModerated(answer, counted)) {
      return failedRead(classifyEmbeddedError({ error: { code: "moderation_blocked" } }));
    }
    const found =
      `the provider answered with ${images.length} usable images of ${items.length}, ` +
      `${asked.count} were requested`;
    return failedRead(unusableImagesFailure(found));
  }
  return {
    ok: true,
    created: asCount(answer["created"]),
    images,
    echoed: pickEchoed(answer),
    report: withoutEmptyUsage(readImageReport(answer, rest), deployment),
    model: answer["model"],
  };
}

function toAnsweredImage(
  item: unknown,
  texts: readonly Base64Text[],
  outputFormat: string,
): AnsweredImage | undefined {
  const fields = asObject(item);
  // `ImageAnswerParser` replaced the image with its index in `texts`. No other string is an index.
  const text = texts[Number(asText(fields?.["b64_json"]) ?? Number.NaN)];
  if (text === undefined || !text.isFile) return undefined;
  const mediaType = detectMediaType(text.firstBytes, outputFormat);
  if (mediaType === undefined) return undefined;
  return { text, mediaType, revisedPrompt: readRevisedPrompt(fields?.["revised_prompt"]) };
}

const REVISED_PROMPT_CHARS_MAX = 32_000;

/** Undefined if the text is too long or empty. Some providers send "" for an unchanged prompt. */
function readRevisedPrompt(value: unknown): string | undefined {
  const text = textOf(value);
  return text !== "" && text.length <= REVISED_PROMPT_CHARS_MAX ? text : undefined;
}

/** Fields that providers repeat in the answer, with their own choice where the client made none. */
const ECHOED = ["size", "quality", "background", "output_format", "aspect_ratio", "resolution"];
const ECHOED_CHARS_MAX = 64;

function pickEchoed(answer: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const echoed: Record<string, string> = {};
  for (const name of ECHOED) {
    const value = asText(answer[name]);
    if (value !== undefined && value.length <= ECHOED_CHARS_MAX) echoed[name] = value;
  }
  return echoed;
}

/** True if the content of the answer or of one image was refused. `items` has a bounded length. */
function saysModerated(answer: Fields, items: readonly unknown[]): boolean {
  return [answer, ...items]
    .map(asObject)
    .flatMap((each) => [each, asObject(each?.["moderation"]), asObject(each?.["promptFeedback"])])
    .filter((each) => each !== undefined)
    .some(
      (each) =>
        each["respect_moderation"] === false ||
        FLAGS.some((name) => each[name] === true) ||
        FILLED.some((name) => textOf(each[name]) !== "") ||
        REASONS.some((name) => isRefusal(each[name])) ||
        matchesWording(extractErrorText(each), contentPolicyWording),
    );
}

const FLAGS = ["moderated", "moderation_blocked", "content_filtered", "flagged", "blocked"];
const FILLED = ["block_reason", "blockReason"];
const REASONS = ["finish_reason", "finishReason", "finish_reasons", "status", "state"];

const WORDS_MAX = 16;
const WORD_CHARS_MAX = 64;

function isRefusal(value: unknown): boolean {
  const words: readonly unknown[] = Array.isArray(value) ? value : [value];
  return words
    .slice(0, WORDS_MAX)
    .map(textOf)
    .some(
      (word) =>
        word.length <= WORD_CHARS_MAX &&
        contentPolicyWording.codes.includes(word.toLowerCase().replaceAll(/[\s-]+/g, "_")),
    );
}

/** A 200 that is not delivered; another provider may succeed. The client sees `found`. */
export function unusableImagesFailure(
  found = "the provider's answer could not be read",
): UpstreamFailure {
  const message = `${found}; nothing was billed, try again`;
  return upstreamFailure("upstream_error", message, { status: 502, upstreamStatus: 200 }, STRUCK);
}

/** Another provider's images would be as large, so there is no failover and no strike. */
export function tooLargeImagesFailure(): UpstreamFailure {
  const message =
    "the images exceed 32 MiB in total; nothing was billed, ask for fewer (n) or a lower quality";
  return upstreamFailure("gateway_error", message, { status: 502, upstreamStatus: 200 }, FINAL);
}

/**
 * Undefined if unknown. SVG has no signature, so it is accepted only if the client asked for it.
 */
export function detectMediaType(first: Buffer, askedFormat: string): string | undefined {
  const bytes = first.toString("latin1");
  if (bytes.startsWith("RIFF") && bytes.startsWith("WEBP", 8)) return "image/webp";
  const known = SIGNATURES.find(([signature]) => bytes.startsWith(signature));
  if (known !== undefined) return known[1];
  return askedFormat === "svg" && isDrawing(decodeBody(first)) ? "image/svg+xml" : undefined;
}

const SIGNATURES = [
  ["\x89PNG\r\n\x1a\n", "image/png"],
  ["\xff\xd8\xff", "image/jpeg"],
  ["GIF87a", "image/gif"],
  ["GIF89a", "image/gif"],
] as const;

function isDrawing(text: string): boolean {
  return /^\s*(<svg|<\?xml|<!DOCTYPE svg|<!--)/.test(text) && /<svg[\s>]/.test(text);
}
