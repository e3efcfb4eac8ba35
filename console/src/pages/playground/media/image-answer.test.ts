import { expect, test } from "vitest";

import { readPictures } from "./media-answer.ts";

test("every image has the media type of its bytes and a file name", () => {
  const bytes = {
    png: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a],
    jpg: [0xff, 0xd8, 0xff, 0xe0, 0x00, 0x10],
    webp: [0x52, 0x49, 0x46, 0x46, 0x10, 0x00],
  };
  const data = Object.values(bytes).map((each) => ({
    b64_json: btoa(String.fromCharCode(...each)),
  }));
  const pictures = readPictures({ data }, "req-1");
  expect(pictures.map(({ fileName }) => fileName)).toEqual([
    "req-1-1.png",
    "req-1-2.jpg",
    "req-1-3.webp",
  ]);
  expect(pictures.map(({ dataUrl }) => dataUrl.split(";")[0])).toEqual([
    "data:image/png",
    "data:image/jpeg",
    "data:image/webp",
  ]);
});

test("an answer without image data has no images", () => {
  expect(readPictures(undefined, undefined)).toEqual([]);
  expect(readPictures({ data: [{ url: "https://example.com" }] }, undefined)).toEqual([]);
});
