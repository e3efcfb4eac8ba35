import { createHash } from "node:crypto";
import { crc32, deflateSync } from "node:zlib";

export type PictureFormat = "png" | "jpeg" | "webp";

/** A picture file in parts: bytes, or how many zeros stand there. Never whole in memory. */
export interface Picture {
  readonly mediaType: string;
  readonly lengthBytes: number;
  readonly parts: readonly (Buffer | number)[];
}

const ZEROS = Buffer.alloc(48 * 1024);
const BASE64_STEP_BYTES = 3 * 16 * 1024;
const COMMENT_HEAD_BYTES = 4;
const COMMENT_BYTES_MAX = 65_537;

/** Eight by eight pixels of one colour, padded to `bytesMin`; the colour depends on `seed`. */
export function pictureOf(format: PictureFormat, seed: string, bytesMin = 0): Picture {
  const mediaType = `image/${format}`;
  const parts = PADDED[format](seed, bytesMin);
  return { mediaType, lengthBytes: lengthOf(parts), parts };
}

/** Characters that base64 of so many bytes takes. */
export function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

/** The picture as base64, a piece at a time. */
export function* base64Pieces(picture: Picture): Generator<Buffer> {
  for (let at = 0; at < picture.lengthBytes; at += BASE64_STEP_BYTES) {
    yield Buffer.from(bytesAt(picture, at, at + BASE64_STEP_BYTES).toString("base64"));
  }
}

function bytesAt({ parts, lengthBytes }: Picture, from: number, to: number): Buffer {
  const piece = Buffer.alloc(Math.min(to, lengthBytes) - from);
  let start = 0;
  for (const part of parts) {
    const end = start + (typeof part === "number" ? part : part.length);
    if (typeof part !== "number" && end > from && start < to) {
      part.copy(piece, Math.max(0, start - from), Math.max(0, from - start));
    }
    start = end;
  }
  return piece;
}

type Parts = Picture["parts"];

const PADDED: Readonly<Record<PictureFormat, (seed: string, bytesMin: number) => Parts>> = {
  png: pngParts,
  jpeg: jpegParts,
  webp: webpParts,
};

const PNG_HEAD = Buffer.concat([
  Buffer.from("89504e470d0a1a0a", "hex"),
  pngChunk("IHDR", Buffer.from("00000008000000080802000000", "hex")),
]);
const PNG_CHUNK_BYTES = 12;

/* The padding is a private chunk, which every reader leaves out. */
function pngParts(seed: string, bytesMin: number): Parts {
  const colour = createHash("sha256").update(seed).digest().subarray(0, 3);
  const row = Buffer.concat([Buffer.of(0), ...Array.from({ length: 8 }, () => colour)]);
  const rows = Buffer.concat(Array.from({ length: 8 }, () => row));
  const tail = Buffer.concat([
    pngChunk("IDAT", deflateSync(rows)),
    pngChunk("IEND", Buffer.alloc(0)),
  ]);
  const missing = bytesMin - PNG_HEAD.length - tail.length;
  if (missing < PNG_CHUNK_BYTES) return [PNG_HEAD, tail, Math.max(0, missing)];
  const padding = missing - PNG_CHUNK_BYTES;
  const name = Buffer.from("siMp");
  return [PNG_HEAD, uint32(padding), name, padding, uint32(crcOfZeros(name, padding)), tail];
}

function pngChunk(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name), data]);
  return Buffer.concat([uint32(data.length), named, uint32(crc32(named))]);
}

function crcOfZeros(name: Buffer, count: number): number {
  let crc = crc32(name);
  for (let left = count; left > 0; left -= ZEROS.length) {
    crc = crc32(left < ZEROS.length ? ZEROS.subarray(0, left) : ZEROS, crc);
  }
  return crc;
}

const JPEG = Buffer.from(
  "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1td" +
    "hbWGkJ6jq62rZ4C8ybqmx5moq6T/wAALCAAIAAgBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAA//EABQQAQAAAAAAAAAA" +
    "AAAAAAAAAAD/2gAIAQEAAD8AB//Z",
  "base64",
);
const JPEG_HEAD_BYTES = 20;

/* The padding is comments; what is too small for one follows the end mark. */
function jpegParts(_seed: string, bytesMin: number): Parts {
  const parts: (Buffer | number)[] = [JPEG.subarray(0, JPEG_HEAD_BYTES)];
  let missing = bytesMin - JPEG.length;
  while (missing >= COMMENT_HEAD_BYTES) {
    const bytes = Math.min(missing, COMMENT_BYTES_MAX) - COMMENT_HEAD_BYTES;
    const head = Buffer.from("fffe0000", "hex");
    head.writeUInt16BE(bytes + 2, 2);
    parts.push(head, bytes);
    missing -= bytes + COMMENT_HEAD_BYTES;
  }
  parts.push(JPEG.subarray(JPEG_HEAD_BYTES), Math.max(0, missing));
  return parts;
}

const WEBP = Buffer.from("UklGRh4AAABXRUJQVlA4TBEAAAAvB8ABAAdQqOIVuf+BiOh/AAA=", "base64");
const WEBP_CHUNK_BYTES = 8;

/* The padding is a chunk of a kind that no reader knows. */
function webpParts(_seed: string, bytesMin: number): Parts {
  const missing = bytesMin - WEBP.length;
  if (missing < WEBP_CHUNK_BYTES) return [WEBP, Math.max(0, missing)];
  const odd = missing % 2;
  const padding = missing - WEBP_CHUNK_BYTES - odd;
  const head = Buffer.from(WEBP);
  head.writeUInt32LE(WEBP.length + WEBP_CHUNK_BYTES + padding - 8, 4);
  const chunk = Buffer.from("JUNK0000");
  chunk.writeUInt32LE(padding, 4);
  return [head, chunk, padding + odd];
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function lengthOf(parts: Parts): number {
  return parts.reduce<number>(
    (sum, part) => sum + (typeof part === "number" ? part : part.length),
    0,
  );
}
