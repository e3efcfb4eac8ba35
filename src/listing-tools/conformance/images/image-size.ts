export interface ImageSize {
  readonly format: "png" | "jpeg" | "webp";
  readonly width: number;
  readonly height: number;
}

/** Bytes that are searched for the size. In a JPEG, a color profile and a preview precede it. */
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
