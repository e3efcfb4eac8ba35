import { hash } from "node:crypto";
import { crc32, inflateSync } from "node:zlib";

import type { ShapeParameter } from "./image-probes.ts";

export interface ImageSize {
  readonly format: "png" | "jpeg" | "webp";
  readonly width: number;
  readonly height: number;
}

/** Bytes searched for the size: in a JPEG, a color profile and a preview can precede the size. */
export const SIZE_BYTES = 262_144;

/** Reads format, width and height. Undefined if the file is not a PNG, JPEG or WebP. */
export function readImageSize(file: Buffer): ImageSize | undefined {
  const first = file.subarray(0, SIZE_BYTES);
  const size = pngSize(first) ?? jpegSize(first) ?? webpSize(first);
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined;
}

export function fileOfBase64(text: string): Buffer | undefined {
  return text.length % 4 === 0 && BASE64.test(text) ? Buffer.from(text, "base64") : undefined;
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

const PNG_SIGNATURE = Buffer.from("89504e470d0a1a0a", "hex");
const PNG_SIZE_AT = 16;

function pngSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < PNG_SIZE_AT + 8 || !bytes.subarray(0, 8).equals(PNG_SIGNATURE))
    return undefined;
  if (bytes.toString("latin1", 12, 16) !== "IHDR") return undefined;
  const width = bytes.readUInt32BE(PNG_SIZE_AT);
  return { format: "png", width, height: bytes.readUInt32BE(PNG_SIZE_AT + 4) };
}

const JPEG_START = 0xffd8;
const MARKER = 0xff;

function jpegSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== JPEG_START) return undefined;
  let at = 2;
  while (at + 4 <= bytes.length) {
    if (bytes[at] !== MARKER) return undefined;
    const kind = bytes[at + 1] ?? 0;
    if (kind === MARKER || hasNoContent(kind)) {
      // JPEG allows any number of fill bytes (0xFF) before a marker, so one byte is skipped.
      at += kind === MARKER ? 1 : 2;
    } else if (beginsFrame(kind)) {
      if (at + 9 > bytes.length) return undefined;
      const height = bytes.readUInt16BE(at + 5);
      return { format: "jpeg", width: bytes.readUInt16BE(at + 7), height };
    } else {
      at += 2 + Math.max(2, bytes.readUInt16BE(at + 2));
    }
  }
  return undefined;
}

function hasNoContent(kind: number): boolean {
  return kind === 0x01 || (kind >= 0xd0 && kind <= 0xd7);
}

/** C4, C8 and CC lie in the range of frame markers, but begin no frame. */
function beginsFrame(kind: number): boolean {
  return kind >= 0xc0 && kind <= 0xcf && kind !== 0xc4 && kind !== 0xc8 && kind !== 0xcc;
}

const WEBP_BYTES_MIN = 30;
const WEBP_14_BITS = 0x3fff;
const LOSSLESS_SIGN = 0x2f;

function webpSize(bytes: Buffer): ImageSize | undefined {
  const isWebp =
    bytes.toString("latin1", 0, 4) === "RIFF" && bytes.toString("latin1", 8, 12) === "WEBP";
  if (!isWebp || bytes.length < WEBP_BYTES_MIN) return undefined;
  const format = "webp";
  switch (bytes.toString("latin1", 12, 16)) {
    case "VP8 ": {
      if (bytes.readUIntBE(23, 3) !== 0x9d012a) return undefined;
      const width = bytes.readUInt16LE(26) & WEBP_14_BITS;
      return { format, width, height: bytes.readUInt16LE(28) & WEBP_14_BITS };
    }
    case "VP8L": {
      if (bytes[20] !== LOSSLESS_SIGN) return undefined;
      const bits = bytes.readUInt32LE(21);
      const width = (bits & WEBP_14_BITS) + 1;
      return { format, width, height: ((bits >>> 14) & WEBP_14_BITS) + 1 };
    }
    case "VP8X":
      return { format, width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    default:
      return undefined;
  }
}

/** Hashes the pixels alone, not the metadata. Undefined if the file cannot be decoded. */
export function hashPicture(file: Buffer, size: ImageSize): string | undefined {
  const drawn = DRAWN[size.format](file, size);
  return drawn && hash("sha256", drawn);
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

interface AskedShape {
  readonly width: number;
  readonly height: number;
  readonly isRatio: boolean;
}

/** Allowed relative difference of a side, because providers round it to a multiple of 8 or 16. */
const SIDE_TOLERANCE = 0.02;
/** For a ratio, providers choose round sides: some offer 1344 by 768 as 16:9. */
const RATIO_TOLERANCE = 0.05;

/** Reads a size or a ratio of sides. Undefined if the value names neither, as `auto` does. */
export function parseShape(parameter: ShapeParameter, value: string): AskedShape | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([x×*:/])\s*(\d+(?:\.\d+)?)$/i.exec(value.trim());
  if (match === null) return undefined;
  const [width, height] = [Number(match[1]), Number(match[3])];
  if (width <= 0 || height <= 0) return undefined;
  const isRatio = parameter === "aspect_ratio" || match[2] === ":" || match[2] === "/";
  return { width, height, isRatio };
}

export function hasShape(size: ImageSize, asked: AskedShape): boolean {
  if (!asked.isRatio) {
    return isNear(size.width, asked.width) && isNear(size.height, asked.height);
  }
  const ratio = asked.width / asked.height;
  return Math.abs(size.width / size.height - ratio) <= RATIO_TOLERANCE * ratio;
}

function isNear(side: number, asked: number): boolean {
  return Math.abs(side - asked) <= SIDE_TOLERANCE * asked;
}
