import { expect, test } from "vitest";

import { chooseWaitMs, readJob, readPictures } from "./media-answer.ts";

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

function reported(json: unknown): ReturnType<typeof readJob> {
  const unknown = { requestId: undefined, provider: undefined };
  return readJob({ json, bodyText: "", costUsd: "0.400000", ...unknown });
}

test("a job is read with its state, cost and the expiry of its file", () => {
  const job = {
    id: "video_1",
    status: "completed",
    progress: 100,
    created_at: 1_795_000_000,
    expires_at: 1_795_003_600,
    seconds: "4",
    error: null,
    request_id: "r",
  };
  expect(reported(job)).toEqual({
    id: "video_1",
    status: "completed",
    progress: 100,
    seconds: "4",
    createdAtMs: 1_795_000_000_000,
    expiresAtMs: 1_795_003_600_000,
    errorCode: undefined,
    costUsd: "0.400000",
    requestId: "r",
  });
});

test("an answer that is not a job is undefined", () => {
  expect(reported({ id: "video_1", status: "dreaming" })).toBeUndefined();
  expect(reported(null)).toBeUndefined();
});

test("the wait between polls grows from 3 to 30 seconds", () => {
  const waits = Array.from({ length: 12 }, (_none, polls) => chooseWaitMs(polls));
  expect(waits[0]).toBe(3_000);
  expect(waits.at(-1)).toBe(30_000);
  expect(waits).toEqual(waits.toSorted((a, b) => a - b));
});
