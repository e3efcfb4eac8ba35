import { describe, expect, test } from "vitest";

import {
  fileOfBase64,
  hashPicture,
  hasShape,
  parseShape,
  readImageSize,
  SIZE_BYTES,
} from "./image-file.ts";
import { renderPng, RED } from "../probing/media-files.ts";

/** Pictures of 33 by 17 pixels, written by common encoders. */
const FILES = {
  png:
    "iVBORw0KGgoAAAANSUhEUgAAACEAAAARCAIAAADc/FKVAAAACXBIWXMAAAABAAAAAQBPJcTWAAAAH0lEQVR4nGP8x0BzwEJ7" +
    "K0btGLVj1I5RO0btGIZ2AAB36wFApepbXwAAAABJRU5ErkJggg==",
  jpeg:
    "/9j/4AAQSkZJRgABAgAAAQABAAD//gAPTGF2YzYzLjEuMTAyAP/bAEMACD4+ST5JVVVVVVVVZF1kaGhoZGRkZGhoaHBwcIOD" +
    "g3BwcGhocHB8fIODj5OPh4eDh5OTm5uburqystnZ4P/////EAE0AAQEAAAAAAAAAAAAAAAAAAAAGAQEBAQAAAAAAAAAAAAAA" +
    "AAAABgcQAQAAAAAAAAAAAAAAAAAAAAARAQAAAAAAAAAAAAAAAAAAAAD/wAARCAARACEDASIAAhEAAxEA/9oADAMBAAIRAxEA" +
    "PwCLASbfwAAAAAAAAAH/2Q==",
  lossless: "UklGRhwAAABXRUJQVlA4TA8AAAAvIAAEAAcQ9Y/+ByKi/wEA",
  lossy:
    "UklGRkQAAABXRUJQVlA4IDgAAAAwAwCdASohABEAP83m7XA/uDIrJWgD8DmJZwDPoA8KmggAAP7XldbYq47/ih5rewdOJM7v" +
    "4UAAAA==",
  extended:
    "UklGRmgAAABXRUJQVlA4WAoAAAAQAAAAIAAAEAAAQUxQSAoAAAABB9C/iAhERP8DVlA4IDgAAAAwAwCdASohABEAP83m7XA/" +
    "uDIrJWgD8DmJZwDPoA8KmggAAP7XldbYq47/ih5rewdOJM7v4UAAAA==",
};

const FORMATS = [
  ["png", "png"],
  ["jpeg", "jpeg"],
  ["lossless", "webp"],
  ["lossy", "webp"],
  ["extended", "webp"],
] as const;

function bytesOf(name: keyof typeof FILES): Buffer {
  return Buffer.from(FILES[name], "base64");
}

describe("the size of an image is read from its file", () => {
  test.each(FORMATS)("encoded as %s", (name, format) => {
    const file = fileOfBase64(FILES[name]) ?? Buffer.alloc(0);
    const size = { format, width: 33, height: 17 };
    expect(readImageSize(file)).toEqual(size);
    expect(hashPicture(file, size)).toMatch(/^[0-9a-f]{64}$/);
    expect(hashPicture(file.subarray(0, file.length / 2), size)).toBeUndefined();
  });

  test("where a JPEG has profiles, empty markers and fill bytes before its size", () => {
    const file = bytesOf("jpeg");
    const profile = Buffer.alloc(60_000, 0xc0);
    profile.set([0xff, 0xe2, (profile.length - 2) >> 8, (profile.length - 2) & 0xff]);
    const before = [file.subarray(0, 2), profile, profile, Buffer.of(0xff, 0x01, 0xff, 0xff)];
    const whole = Buffer.concat([...before, file.subarray(2)]);
    expect(whole.length).toBeLessThan(SIZE_BYTES);
    expect(readImageSize(whole)).toEqual({ format: "jpeg", width: 33, height: 17 });
  });

  test("where a JPEG is a progressive one", () => {
    const file = Buffer.from(bytesOf("jpeg"));
    file[file.indexOf(Buffer.from("ffc0", "hex")) + 1] = 0xc2;
    expect(readImageSize(file)).toMatchObject({ width: 33, height: 17 });
  });
});

describe("data that is not an image has no size", () => {
  test.each(FORMATS)("an image encoded as %s that is cut before its size", (name) => {
    const file = bytesOf(name);
    for (let length = 0; length < 20; length += 1) {
      expect(readImageSize(file.subarray(0, length))).toBeUndefined();
    }
  });

  test.each([
    ["a text", Buffer.from("a text and no picture at all, of some length")],
    ["a PNG of no width", withoutWidth()],
    ["a JPEG that is only tables", bytesOf("jpeg").subarray(0, 100)],
    ["a sound in the same container as WebP", Buffer.from("RIFF0000WAVEfmt 0000000000000000")],
    ["a WebP of an unknown kind", Buffer.from("RIFF0000WEBPVP9 0000000000000000")],
  ])("%s", (_what, file) => {
    expect(readImageSize(file)).toBeUndefined();
  });

  test.each([
    ["an empty text", ""],
    ["an address", "https://images.example/1.png"],
    ["base64 that was cut", FILES.png.slice(0, -1)],
    ["base64 with a line break", `${FILES.png.slice(0, 75)}\n${FILES.png.slice(76)}`],
  ])("%s", (_what, text) => {
    const file = fileOfBase64(text);
    expect(file && readImageSize(file)).toBeUndefined();
  });
});

function withoutWidth(): Buffer {
  const file = Buffer.from(renderPng(RED));
  file.writeUInt32BE(0, 16);
  return file;
}

function fits(parameter: "size" | "aspect_ratio", value: string, width: number, height: number) {
  const asked = parseShape(parameter, value);
  return asked && hasShape({ format: "png", width, height }, asked);
}

test.each([
  ["size", "1024x1536", 1024, 1536],
  ["size", "1080x1920", 1088, 1920],
  ["size", "1024×1024", 1024, 1024],
  ["aspect_ratio", "16:9", 1344, 768],
  ["aspect_ratio", "1:1", 512, 512],
  ["aspect_ratio", "9:19.5", 720, 1560],
] as const)(
  "an image of the requested %s %s may have %i by %i pixels",
  (parameter, value, width, height) => {
    expect(fits(parameter, value, width, height)).toBe(true);
  },
);

test.each([
  ["size", "1024x1536", 1536, 1024],
  ["size", "1024x1024", 512, 512],
  ["size", "1024x1024", 1024, 768],
  ["aspect_ratio", "16:9", 768, 1344],
  ["aspect_ratio", "4:3", 1536, 1024],
] as const)(
  "an image of the requested %s %s may not have %i by %i pixels",
  (parameter, value, width, height) => {
    expect(fits(parameter, value, width, height)).toBe(false);
  },
);

test.each(["auto", "1K", "0x0", "a:b"])("%s promises no shape", (value) => {
  expect(parseShape("size", value)).toBeUndefined();
  expect(parseShape("aspect_ratio", value)).toBeUndefined();
});
