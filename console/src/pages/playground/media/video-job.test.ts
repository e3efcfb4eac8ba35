import { expect, test } from "vitest";

import { readJob, chooseWaitMs } from "./media-answer.ts";

function reported(json: unknown): ReturnType<typeof readJob> {
  return readJob({
    json,
    bodyText: "",
    costUsd: "0.400000",
    requestId: undefined,
    provider: undefined,
  });
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
