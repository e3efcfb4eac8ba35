import { textOf, type JsonObject } from "../json.ts";
import { tokensOf } from "../sim-request.ts";
import type { PictureFormat } from "./picture.ts";

/** What an image request asks for. */
export interface ImageOrder {
  readonly prompt: string;
  readonly count: number;
  readonly format: PictureFormat;
  readonly size: string | undefined;
  readonly quality: string | undefined;
  readonly background: string | undefined;
  readonly wantsBase64: boolean;
  readonly promptTokens: number;
  /** Of all images. */
  readonly imageTokens: number;
}

const TOKENS_OF_QUALITY: Readonly<Record<string, number>> = { low: 272, medium: 1_056 };
const TOKENS_OF_HIGH = 4_160;

/** Reads a body that has passed the checks. */
export function readImageOrder(body: JsonObject): ImageOrder {
  const prompt = textOf(body["prompt"]);
  const { n, quality } = body;
  const count = typeof n === "number" ? n : 1;
  const perImage = TOKENS_OF_QUALITY[textOf(quality)] ?? TOKENS_OF_HIGH;
  return {
    prompt,
    count,
    format: formatOf(body["output_format"]),
    size: textOf(body["size"]) || undefined,
    quality: textOf(quality) || undefined,
    background: textOf(body["background"]) || undefined,
    wantsBase64: body["response_format"] === "b64_json",
    promptTokens: tokensOf(prompt),
    imageTokens: count * perImage,
  };
}

function formatOf(asked: unknown): PictureFormat {
  return asked === "jpeg" || asked === "webp" ? asked : "png";
}
