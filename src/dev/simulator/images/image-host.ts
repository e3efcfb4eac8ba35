import { ticksOfUsd, usdOfCents } from "../decimal.ts";
import { plainError, referenceError, relayError, type ErrorWriter } from "../host-errors.ts";
import { rawNumber, type JsonObject } from "../json.ts";
import type { SimError } from "../sim-error.ts";
import type { Troubles } from "../trouble.ts";
import { plainImageProblem, referenceImageProblem, relayImageProblem } from "./image-checks.ts";
import type { ImageOrder } from "./image-order.ts";

/** A kind of image host: what it refuses, and what surrounds its images. */
export interface ImageHost {
  problemOf(body: JsonObject): SimError | undefined;
  readonly error: ErrorWriter;
  readonly troubles: Troubles;
  /** Does it answer with addresses unless base64 was asked for? */
  readonly prefersUrl: boolean;
  /** Beside the picture of one image. */
  besideImage(mediaType: string): JsonObject;
  /** Beside the list of images. */
  besideList(order: ImageOrder): JsonObject;
  /** `costUsd`: digit for digit; null reports none. */
  usage(order: ImageOrder, costUsd: string | null): JsonObject;
  /** The whole of a 200 that moderation left empty. */
  blocked(createdS: number): JsonObject;
}

const CENTS_PER_IMAGE = 2;

/** What the images of an order cost, where a host reports it. */
export function costOf({ count }: ImageOrder): string {
  return usdOfCents(count * CENTS_PER_IMAGE);
}

/** Sizes and token usage. */
export const referenceImages: ImageHost = {
  problemOf: referenceImageProblem,
  error: referenceError,
  troubles: troublesOf({
    status: 400,
    code: "moderation_blocked",
    message: "Your request was rejected by our safety system.",
  }),
  prefersUrl: false,
  besideImage: () => ({}),
  besideList: ({ size, quality, background, canvas }) => ({
    background: background ?? "opaque",
    output_format: canvas.format,
    quality: quality ?? "high",
    size: size ?? "1024x1024",
  }),
  usage: ({ promptTokens: text, imageTokens: image }) => ({
    input_tokens: text,
    output_tokens: image,
    total_tokens: text + image,
    input_tokens_details: { text_tokens: text, image_tokens: 0 },
    output_tokens_details: { text_tokens: 0, image_tokens: image },
  }),
  blocked: (created) => ({
    created,
    data: [],
    moderation: { flagged: true, categories: ["sexual_content"] },
  }),
};

/** Aspect ratios, a media type with each image, its cost in USD. */
export const relayImages: ImageHost = {
  problemOf: relayImageProblem,
  error: relayError,
  troubles: troublesOf({
    status: 451,
    code: "content_policy_violation",
    message: "The prompt was blocked by the content policy of the provider.",
  }),
  prefersUrl: false,
  besideImage: (mediaType) => ({ media_type: mediaType }),
  besideList: () => ({}),
  usage: ({ promptTokens, imageTokens }, costUsd) => ({
    prompt_tokens: promptTokens,
    completion_tokens: imageTokens,
    total_tokens: promptTokens + imageTokens,
    ...(costUsd === null ? {} : { cost: rawNumber(costUsd) }),
  }),
  blocked: (created) => ({ created, data: [], block_reason: "PROHIBITED_CONTENT" }),
};

/** Aspect ratios, addresses by default, its cost in ticks. */
export const plainImages: ImageHost = {
  problemOf: plainImageProblem,
  error: plainError,
  troubles: troublesOf({
    status: 400,
    code: "content_policy_violation",
    message: "Generated image rejected by content moderation.",
  }),
  prefersUrl: true,
  besideImage: () => ({ revised_prompt: "" }),
  besideList: () => ({}),
  usage: (_order, costUsd) =>
    costUsd === null ? {} : { cost_in_usd_ticks: rawNumber(ticksOfUsd(costUsd)) },
  blocked: () => ({ data: [{ url: "", respect_moderation: false }] }),
};

function troublesOf(moderation: SimError): Troubles {
  return {
    overloaded: { status: 503, message: "The image engine is currently overloaded" },
    context_overflow: {
      status: 400,
      code: "string_above_max_length",
      message: "Invalid 'prompt': string too long. Expected a maximum length of 32000.",
    },
    content_filter: moderation,
    failed: { status: 500, code: "server_error", message: "The server had an error" },
  };
}
