import { createHash } from "node:crypto";
import { crc32, inflateSync } from "node:zlib";

import type { ImageSize } from "./image-size.ts";

/**
 * Hashes only the pixels of a file, so that two equal pictures with different metadata have equal
 * hashes. Undefined if the file cannot be decoded.
 */
export function hashPicture(file: Buffer, size: ImageSize): string | undefined {
  const drawn = DRAWN[size.format](file, size);
  return drawn && createHash("sha256").update(drawn).digest("hex");
}

const DRAWN: Readonly<
  Record<ImageSize["format"], (file: Buffer, size: ImageSize) => Buffer | undefined>
> = { png: pngPicture, jpeg: jpegPicture, webp: webpPicture };

const PICTURE_BYTES_MAX = 268_435_456;
const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
const PNG_HEAD_BYTES = 8;
const CHUNK_BYTES = 12;

/** Palette and pixels of a PNG. Undefined if a checksum or the number of pixel bytes is wrong. */
function pngPicture(file: Buffer, { width, height }: ImageSize): Buffer | undefined {
  const palette: Buffer[] = [];
  const pixels: Buffer[] = [];
  let at = PNG_HEAD_BYTES;
  let kind = "";
  while (kind !== "IEND") {
    if (at + CHUNK_BYTES > file.length) return undefined;
    const end = at + 8 + file.readUInt32BE(at);
    if (end + 4 > file.length) return undefined;
    kind = file.toString("latin1", at + 4, at + 8);
    if (crc32(file.subarray(at + 4, end)) !== file.readUInt32BE(end)) return undefined;
    if (kind === "PLTE") palette.push(file.subarray(at + 8, end));
    if (kind === "IDAT") pixels.push(file.subarray(at + 8, end));
    at = end + 4;
  }
  const [depth = 8, colours = 0] = file.subarray(24, 26);
  const isInterlaced = file[28] !== 0;
  try {
    const rows = inflateSync(Buffer.concat(pixels), { maxOutputLength: PICTURE_BYTES_MAX });
    const rowBytes = 1 + Math.ceil((width * depth * (CHANNELS[colours] ?? 0)) / 8);
    const isWhole = isInterlaced ? rows.length > 0 : rows.length === height * rowBytes;
    return isWhole ? Buffer.concat([...palette, rows]) : undefined;
  } catch {
    return undefined;
  }
}

const SCAN = Buffer.from("ffda", "hex");
const END = Buffer.from("ffd9", "hex");

/** Everything from the first scan to the end mark. Metadata comes before the first scan. */
function jpegPicture(file: Buffer): Buffer | undefined {
  const [from, to] = [file.indexOf(SCAN), file.lastIndexOf(END)];
  return from > 0 && to > from ? file.subarray(from, to) : undefined;
}

/** The chunks that contain pixels. Undefined if the file is shorter than its head states. */
function webpPicture(file: Buffer): Buffer | undefined {
  if (file.length < file.readUInt32LE(4) + 8) return undefined;
  const parts: Buffer[] = [];
  for (let at = 12; at + 8 <= file.length;) {
    const end = at + 8 + file.readUInt32LE(at + 4);
    if (end > file.length) return undefined;
    if (/^(VP8[ L]|ALPH|ANMF)$/.test(file.toString("latin1", at, at + 4))) {
      parts.push(file.subarray(at + 8, end));
    }
    at = end + (end % 2);
  }
  return parts.length === 0 ? undefined : Buffer.concat(parts);
}
