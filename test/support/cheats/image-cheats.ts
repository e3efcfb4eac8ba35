import type { ImageCheat } from "../../../src/dev/simulator/cheat.ts";
import { pngChunk } from "../../../src/dev/simulator/images/picture.ts";
import type { CheatTable } from "./text-effects.ts";

export const IMAGE_CHEATS: CheatTable<ImageCheat> = {
  "image-one-missing": [
    "C2",
    { count: (n) => (n > 1 ? n - 1 : n) },
    "several images in one request",
  ],
  "image-truncated": ["C2", { file: (bytes) => bytes.subarray(0, bytes.length / 2) }],
  "image-damaged": [
    "C2",
    {
      file: (bytes) => {
        const at = bytes.length - 30;
        const damaged = Buffer.from(bytes);
        damaged[at] = (damaged[at] ?? 0) ^ 0xff;
        return damaged;
      },
    },
  ],
  "image-of-noise": [
    "C2",
    { file: (bytes) => Buffer.concat([bytes.subarray(0, 33), Buffer.alloc(200, 7)]) },
  ],
  "image-stock": ["C11", { seed: (_prompt, index) => `stock ${index}` }],
  "image-stock-with-comment": [
    "C11",
    {
      seed: (_prompt, index) => `stock ${index}`,
      file: (bytes, call) => pngWithComment(bytes, String(call)),
    },
  ],
  "image-twins": ["C11", { seed: (prompt) => prompt }, "several images in one request"],
  "image-by-length": ["C11", { seed: (prompt, index) => `${prompt.length} ${index}` }],
  "image-wrong-size": [
    "C11",
    { canvas: (canvas) => ({ ...canvas, width: Math.ceil(canvas.width / 2) }) },
  ],
  "image-turned": [
    "C11",
    { canvas: ({ width, height, format }) => ({ format, width: height, height: width }) },
  ],
  "image-square": ["C11", { canvas: ({ width, format }) => ({ format, width, height: width }) }],
  "image-format-ignored": [
    "C11",
    { canvas: (canvas) => ({ ...canvas, format: "png" }) },
    "formats of files",
  ],
  "image-usage-missing": ["C4", { hidesUsage: true }],
  "image-billed-twice": [
    "C11",
    { billed: ({ imageTokens }) => ({ imageTokens: 2 * imageTokens }) },
  ],
  "image-prompt-plus-constant": [
    "C4",
    { billed: ({ promptTokens }) => ({ promptTokens: promptTokens + 1_000 }) },
  ],
  "image-model": ["C7", { model: "another-model" }],
};

function pngWithComment(file: Buffer, comment: string): Buffer {
  const end = file.lastIndexOf("IEND", undefined, "latin1") - 4;
  if (end < 0 || file.toString("latin1", 1, 4) !== "PNG") return file;
  const text = pngChunk("tEXt", Buffer.from(`Comment\0${comment}`));
  return Buffer.concat([file.subarray(0, end), text, file.subarray(end)]);
}
