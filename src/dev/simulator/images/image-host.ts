import { toTicks, toUsd, rawNumber, type JsonObject } from "../json.ts";
import {
  plainError,
  referenceError,
  relayError,
  type ErrorWriter,
  type Troubles,
} from "../sim-error.ts";
import { mediaTroubles, PROMPTED } from "../media-requests.ts";
import { anything, be, fields, matching, oneOf, text, whole, type Rule } from "../shape.ts";
import type { ImageOrder } from "./image-order.ts";

export interface ImageHost {
  readonly accepts: Rule;
  readonly error: ErrorWriter;
  readonly troubles: Troubles;
  /** True if the provider answers with URLs unless the request asks for base64. */
  readonly prefersUrl: boolean;
  /** Fields of an item in the list of images, in addition to its picture. */
  besideImage(mediaType: string): JsonObject;
  besideList(order: ImageOrder): JsonObject;
  /** Fields that report usage. `costUsd` is printed digit for digit; null reports no cost. */
  usage(order: ImageOrder, costUsd: string | null): JsonObject;
  /** The body of an answer with status 200 from which moderation has removed the images. */
  blocked(createdS: number): JsonObject;
}

const CENTS_PER_IMAGE = 2;

const SIDE_STEP = 16;
const SIDE_MAX = 3_840;
const RATIO_MAX = 3;

const exactSize = be(
  "auto, or a size with sides of multiples of 16 and a ratio of at most 3",
  (value) => {
    const [, ...sides] = /^(\d{2,5})x(\d{2,5})$/.exec(String(value)) ?? [];
    const [shorter = 0, longer = 0] = sides.map(Number).sort((one, other) => one - other);
    const isWithin = longer <= Math.min(SIDE_MAX, RATIO_MAX * shorter);
    return value === "auto" || (longer > 0 && (longer | shorter) % SIDE_STEP === 0 && isWithin);
  },
);
const ratio = matching(/^(auto|\d{1,2}(\.\d)?:\d{1,2}(\.\d)?)$/);
const ordered = { ...PROMPTED, n: whole(1, 10), user: text };
const styled = {
  ...ordered,
  background: oneOf("transparent opaque auto"),
  output_format: oneOf("png jpeg webp"),
  output_compression: whole(0, 100),
};

export function priceImages({ count }: ImageOrder): string {
  return toUsd(count * CENTS_PER_IMAGE);
}

/** A provider that takes exact sizes, and reports token usage. */
export const referenceImages: ImageHost = {
  accepts: fields({
    ...styled,
    size: exactSize,
    quality: oneOf("low medium high xhigh max auto standard hd"),
    moderation: oneOf("low auto"),
    safety_identifier: text,
  }),
  error: referenceError,
  troubles: mediaTroubles({
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
  usage: ({ promptTokens: read, imageTokens: made }) => ({
    input_tokens: read,
    output_tokens: made,
    total_tokens: read + made,
    input_tokens_details: { text_tokens: read, image_tokens: 0 },
    output_tokens_details: { text_tokens: 0, image_tokens: made },
  }),
  blocked: (created) => ({
    created,
    data: [],
    moderation: { flagged: true, categories: ["sexual_content"] },
  }),
};

/** A provider that takes aspect ratios, returns a media type, and reports the cost in USD. */
export const relayImages: ImageHost = {
  accepts: fields({
    ...styled,
    aspect_ratio: ratio,
    resolution: oneOf("512 1K 2K 4K"),
    quality: oneOf("low medium high auto"),
    seed: whole(0),
    provider: anything,
  }),
  error: relayError,
  troubles: mediaTroubles({
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

/** A provider that takes aspect ratios, answers with URLs, and reports cost in 10^-10 USD. */
export const plainImages: ImageHost = {
  accepts: fields({
    ...ordered,
    aspect_ratio: ratio,
    resolution: oneOf("1k 2k"),
    response_format: oneOf("url b64_json"),
  }),
  error: plainError,
  troubles: mediaTroubles({
    status: 400,
    code: "content_policy_violation",
    message: "Generated image rejected by content moderation.",
  }),
  prefersUrl: true,
  besideImage: () => ({ revised_prompt: "" }),
  besideList: () => ({}),
  usage: (_order, costUsd) =>
    costUsd === null ? {} : { cost_in_usd_ticks: rawNumber(toTicks(costUsd)) },
  blocked: () => ({ data: [{ url: "", respect_moderation: false }] }),
};
