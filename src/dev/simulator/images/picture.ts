import { createHash } from "node:crypto";
import { crc32, deflateSync } from "node:zlib";

export type PictureFormat = "png" | "jpeg" | "webp";

/** A file in parts: bytes, or a number of zero bytes, so that a large file needs no memory. */
export interface Picture {
  readonly mediaType: string;
  readonly lengthBytes: number;
  readonly parts: readonly (Buffer | number)[];
}

const BASE64_STEP_BYTES = 3 * 16 * 1024;

export interface Canvas {
  readonly format: PictureFormat;
  readonly width: number;
  readonly height: number;
}

/** Draws a picture of the one color that `seed` determines. Zero bytes pad it to `bytesMin`. */
export function drawPicture(canvas: Canvas, seed: string, bytesMin = 0): Picture {
  const mediaType = `image/${canvas.format}`;
  const colour = createHash("sha256").update(seed).digest().subarray(0, 3);
  const file = FILES[canvas.format](canvas, colour);
  const parts = [...file, Math.max(0, bytesMin - sumLengths(file))];
  return { mediaType, lengthBytes: sumLengths(parts), parts };
}

export function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

/** Encodes a picture in chunks, so that a large one needs little memory. */
export function* base64Pieces(picture: Picture): Generator<Buffer> {
  for (let at = 0; at < picture.lengthBytes; at += BASE64_STEP_BYTES) {
    yield Buffer.from(bytesAt(picture, at, at + BASE64_STEP_BYTES).toString("base64"));
  }
}

/** Returns the whole file in memory. Use it for small pictures only. */
export function renderFile(picture: Picture): Buffer {
  return bytesAt(picture, 0, picture.lengthBytes);
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

const FILES: Readonly<Record<PictureFormat, (canvas: Canvas, colour: Buffer) => Parts>> = {
  png: pngParts,
  jpeg: jpegParts,
  webp: webpParts,
};

const PNG_SIGNATURE = Buffer.from("89504e470d0a1a0a", "hex");
/* Bit depth 1, color type 3: each pixel is one bit, which chooses a color of the palette. */
const PNG_MODE = Buffer.from("0103000000", "hex");

function pngParts({ width, height }: Canvas, colour: Buffer): Parts {
  const size = Buffer.concat([uint32(width), uint32(height), PNG_MODE]);
  const rowBytes = 1 + Math.ceil(width / 8);
  return [
    PNG_SIGNATURE,
    pngChunk("IHDR", size),
    pngChunk("PLTE", colour),
    pngChunk("IDAT", deflateSync(Buffer.alloc(height * rowBytes))),
    pngChunk("IEND", Buffer.alloc(0)),
  ];
}

export function pngChunk(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name), data]);
  return Buffer.concat([uint32(data.length), named, uint32(crc32(named))]);
}

const JPEG_HEAD = Buffer.from("ffd8ffe000104a46494600010100000100010000", "hex");
/* Quantization table with 64 steps of 16. Such coarse steps lose nothing in a single color. */
const JPEG_TABLE = Buffer.concat([Buffer.from("ffdb004300", "hex"), Buffer.alloc(64, 16)]);
/*
 * Huffman codes. For a block's brightness, code 0 means no change, and code 10 means that three
 * bits with the change follow. For its detail, code 0 means that the block has none.
 */
const JPEG_CODES = Buffer.concat([
  Buffer.from("ffc40015000101", "hex"),
  Buffer.alloc(14),
  Buffer.from("0003ffc400141001", "hex"),
  Buffer.alloc(16),
]);
const JPEG_SCAN = Buffer.from("ffda0008010100003f00", "hex");
const JPEG_END = Buffer.from("ffd9", "hex");
const BLOCK_PIXELS = 8;

function jpegParts({ width, height }: Canvas, colour: Buffer): Parts {
  const frame = Buffer.from("ffc0000b080000000001011100", "hex");
  frame.writeUInt16BE(height, 5);
  frame.writeUInt16BE(width, 7);
  const blocks = Math.ceil(width / BLOCK_PIXELS) * Math.ceil(height / BLOCK_PIXELS);
  const head = [JPEG_HEAD, JPEG_TABLE, frame, JPEG_CODES, JPEG_SCAN];
  return [...head, ...greyBlocks(blocks, colour), JPEG_END];
}

/*
 * Encodes the blocks of a gray picture. The first block has six bits: code 10, three bits for the
 * change of brightness, and code 0 for no detail. Each further block has two zeros: no change and
 * no detail. Ones fill the last byte.
 */
function greyBlocks(blocks: number, colour: Buffer): Parts {
  const first = 0b1000_0000 | (((colour[0] ?? 0) & 0b111) << 3);
  const bits = 2 * blocks + 4;
  const filling = (8 - (bits % 8)) % 8;
  const ones = 2 ** filling - 1;
  const bytes = Math.ceil(bits / 8);
  if (bytes === 1) return [Buffer.of(first | ones)];
  return [Buffer.of(first), bytes - 2, Buffer.of(ones)];
}

const WEBP_SIGNATURE = 0x2f;

function webpParts(canvas: Canvas, colour: Buffer): Parts {
  const pixels = webpPixels(canvas, colour);
  const head = Buffer.from("RIFF0000WEBPVP8L0000");
  head.writeUInt32LE(head.length + pixels.length - 8, 4);
  head.writeUInt32LE(pixels.length, 16);
  return [head, pixels];
}

/*
 * Encodes the pixels of a lossless WebP picture of one color. A pixel takes no bits, because each
 * of the five prefix codes (green, red, blue, alpha, distance) has a single symbol. Bits are
 * written least significant first.
 */
function webpPixels({ width, height }: Canvas, colour: Buffer): Buffer {
  const [red = 0, green = 0, blue = 0] = colour;
  const opaque = 0xff;
  // The first three bits are zero: no transform, no color cache, one group of codes.
  let bits = 0n;
  let length = 3n;
  const put = (value: number, count: bigint) => {
    bits |= BigInt(value) << length;
    length += count;
  };
  for (const symbol of [green, red, blue, opaque]) {
    put(0b101, 3n); // a simple code: one symbol of eight bits
    put(symbol, 8n);
  }
  put(0b001, 3n); // a simple code: one symbol of one bit
  put(0, 1n);
  // The length is even, because a chunk of an odd length would need a padding byte after it.
  const data = Buffer.alloc(14);
  data.writeUInt8(WEBP_SIGNATURE, 0);
  data.writeUInt32LE((width - 1) | ((height - 1) << 14), 1);
  data.writeBigUInt64LE(bits, 5);
  return data;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function sumLengths(parts: Parts): number {
  return parts.reduce<number>(
    (sum, part) => sum + (typeof part === "number" ? part : part.length),
    0,
  );
}
