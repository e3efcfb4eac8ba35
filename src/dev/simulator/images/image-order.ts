import { asNumber, textOf } from "../../../kernel/index.ts";
import { type JsonObject } from "../json.ts";
import { estimateTokens } from "../sim-request.ts";
import type { Canvas, PictureFormat } from "./picture.ts";

export interface ImageOrder {
  readonly prompt: string;
  readonly count: number;
  readonly canvas: Canvas;
  readonly size: string | undefined;
  readonly quality: string | undefined;
  readonly background: string | undefined;
  readonly wantsBase64: boolean;
  readonly promptTokens: number;
  /** Tokens of all images of the order together. */
  readonly imageTokens: number;
}

const TOKENS_OF_QUALITY: Readonly<Record<string, number>> = { low: 272, medium: 1_056 };
const TOKENS_OF_HIGH = 4_160;
const SIDE_DEFAULT = 1_024;
const SIDE_OF_RESOLUTION: Readonly<Record<string, number>> = {
  "512": 512,
  "1K": 1_024,
  "2K": 2_048,
  "4K": 4_096,
};

/** Reads a body that has passed the provider's checks, without checking its fields again. */
export function readImageOrder(body: JsonObject): ImageOrder {
  const prompt = textOf(body["prompt"]);
  const { n, quality } = body;
  const count = asNumber(n) ?? 1;
  const perImage = TOKENS_OF_QUALITY[textOf(quality)] ?? TOKENS_OF_HIGH;
  return {
    prompt,
    count,
    canvas: { format: chooseFormat(body["output_format"]), ...readSides(body) },
    size: textOf(body["size"]) || undefined,
    quality: textOf(quality) || undefined,
    background: textOf(body["background"]) || undefined,
    wantsBase64: body["response_format"] === "b64_json",
    promptTokens: estimateTokens(prompt),
    imageTokens: count * perImage,
  };
}

function chooseFormat(asked: unknown): PictureFormat {
  return asked === "jpeg" || asked === "webp" ? asked : "png";
}

/** Reads an exact `size`, else computes the sides from the ratio and the longer side. */
function readSides(body: JsonObject): Pick<Canvas, "width" | "height"> {
  const { size, aspect_ratio: ratio, resolution } = body;
  const exact = parsePair(size, "x");
  if (exact !== undefined) return { width: exact[0], height: exact[1] };
  const side = SIDE_OF_RESOLUTION[textOf(resolution).toUpperCase()] ?? SIDE_DEFAULT;
  const [across, down] = parsePair(ratio, ":") ?? [1, 1];
  const longer = Math.max(across, down);
  return {
    width: Math.max(1, Math.round((side * across) / longer)),
    height: Math.max(1, Math.round((side * down) / longer)),
  };
}

function parsePair(value: unknown, separator: string): readonly [number, number] | undefined {
  const [first = 0, second = 0] = textOf(value).split(separator).map(Number);
  return first > 0 && second > 0 ? [first, second] : undefined;
}
