/**
 * The kind of an image file, by its first bytes; undefined when it is none that is known. A
 * drawing is text like any other, so it counts as one only where a drawing was asked for.
 */
export function mediaTypeOf(first: Buffer, askedFormat: string): string | undefined {
  const known = MAGIC.find(({ starts }) =>
    starts.every(({ at, bytes }) => first.subarray(at, at + bytes.length).equals(bytes)),
  );
  if (known !== undefined) return known.mediaType;
  return askedFormat === "svg" && isDrawing(first.toString()) ? "image/svg+xml" : undefined;
}

interface Magic {
  readonly mediaType: string;
  readonly starts: readonly { readonly at: number; readonly bytes: Buffer }[];
}

const MAGIC: readonly Magic[] = [
  { mediaType: "image/png", starts: [start(0, "\x89PNG\r\n\x1a\n")] },
  { mediaType: "image/jpeg", starts: [start(0, "\xff\xd8\xff")] },
  { mediaType: "image/webp", starts: [start(0, "RIFF"), start(8, "WEBP")] },
  { mediaType: "image/gif", starts: [start(0, "GIF87a")] },
  { mediaType: "image/gif", starts: [start(0, "GIF89a")] },
];

function start(at: number, text: string): { readonly at: number; readonly bytes: Buffer } {
  return { at, bytes: Buffer.from(text, "latin1") };
}

const BYTE_ORDER_MARK = "\uFEFF";

/** The root element, perhaps behind a declaration, a document type and comments. */
function isDrawing(text: string): boolean {
  const plain = (text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text).trimStart();
  return /^(<svg|<\?xml|<!DOCTYPE svg|<!--)/.test(plain) && /<svg[\s>]/.test(plain);
}
