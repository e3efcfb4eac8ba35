import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { type ProviderJob, readJob } from "./read-job.ts";

function read(record: unknown): ProviderJob | undefined {
  return readJob(Buffer.from(JSON.stringify(record)));
}

describe("a job's record", () => {
  const date = { id: "1", status: "done", url: "u" };
  const expiresAtMs = 1_795_255_200_000;
  const video = { url: "https://x/y", duration: 8, respect_moderation: true };
  const xai = { status: "done", video, usage: { cost_in_usd_ticks: 3_000_000_000 } };
  const blocked = { id: "1", status: "failed", error: "content_policy_violation: the prompt" };
  test.each<[string, object, Partial<ProviderJob>]>([
    [
      "of the reference wire",
      { id: "video_1", status: "in_progress", progress: 33, expires_at: 1_800_000_000 },
      { id: "video_1", state: "in_progress", progress: 33, expiresAtMs: 1_800_000_000_000 },
    ],
    [
      "of OpenRouter",
      { id: "gen-1", status: "completed", unsigned_urls: ["https://x/y"], usage: { cost: 0.5 } },
      { id: "gen-1", state: "completed", costPicoUsd: 500_000_000_000n as never },
    ],
    ["of xAI", xai, { id: undefined, state: "completed", costPicoUsd: 300_000_000_000n as never }],
    ["of an accepted xAI job", { request_id: "r-1" }, { id: "r-1", state: "unknown" }],
    ["of a task", { task_id: 7, state: "Running" }, { id: "7", state: "in_progress" }],
    ["with a policy violation as an error string", blocked, { id: "1", state: "refused" }],
    ["with a date as text", { ...date, expires_at: "2026-11-21T10:00:00Z" }, { expiresAtMs }],
    // Run with TZ=Asia/Tokyo, this also tests that the machine's time zone does not matter.
    ["with a date of no zone", { ...date, expires_at: "2026-11-21T10:00:00.000" }, { expiresAtMs }],
    ["with an expiry time in ms", { id: "1", expires_at: expiresAtMs }, { expiresAtMs }],
  ])("%s is read", (_whose, record, expected) => {
    expect(read(record)).toMatchObject(expected);
  });

  test.each<[ProviderJob["state"], string]>([
    ["queued", "queued pending submitted created"],
    ["in_progress", "in_progress IN-PROGRESS processing running generating"],
    ["completed", "completed succeeded"],
    ["failed", "failed error"],
    ["cancelled", "cancelled canceled"],
    ["expired", "expired"],
    ["unknown", "pondering constructor __proto__"],
  ])("is %s if its status is one of: %s", (state, words) => {
    for (const word of words.split(" ")) {
      expect([word, read({ id: "1", status: word })?.state]).toEqual([word, state]);
    }
  });

  const immoral = { url: "u", respect_moderation: false };
  test.each<[object, ProviderJob["state"]]>([
    [{ status: "done", video: { url: "u" } }, "completed"],
    [{ status: "done", videos: [{ url: "u" }] }, "completed"],
    [{ status: "done", video: { duration: 8 } }, "failed"],
    [{ status: "done" }, "failed"],
    [{ status: "completed" }, "completed"],
    [{ status: "completed", video: null }, "failed"],
    [{ status: "done", video: immoral }, "refused"],
    [{ status: "failed", respect_moderation: false }, "refused"],
    [{ status: "failed", error: { code: "content_policy_violation" } }, "refused"],
    [{ status: "failed", error: { code: "internal" } }, "failed"],
  ])("with %j has the state %s", (record, state) => {
    expect(read({ id: "1", ...record })?.state).toBe(state);
  });

  test.each<[unknown, number | undefined]>([
    [0, 0],
    [99.9, 99],
    [250, 100],
    [-5, 0],
    ["40%", 40],
    ["soon", undefined],
  ])("with progress %j is read as %j percent", (progress, percent) => {
    expect(read({ id: "1", progress })?.progress).toBe(percent);
  });

  test.each(["", " ", "..", ".", "a b", "a\nb", "ä", "x".repeat(513), null, {}, 1.5])(
    "whose id is %j is read without an id, so it cannot be polled",
    (id) => {
      expect(read({ id, status: "queued" })).toMatchObject({ id: undefined, state: "queued" });
    },
  );

  const bodies = [
    "",
    "[]",
    "7",
    '"queued"',
    "null",
    "{",
    "{}",
    '{"hello":1}',
    '{"error":{"code":"x"}}',
  ];
  test.each(bodies)("is not found in the body '%s'", (text) => {
    expect(readJob(Buffer.from(text))).toBeUndefined();
  });

  test("has its cost in pico-dollars, read from a decimal of any length", () => {
    const text = '{"id":"1","usage":{"cost":0.000000123456000000000001}}';
    expect(readJob(Buffer.from(text))?.costPicoUsd).toBe(123_456n);
  });

  test("of any JSON object is read without throwing, with progress from 0 to 100 and no negative cost", () => {
    const record = fc.dictionary(
      fc.constantFrom("id", "status", "progress", "video", "error", "usage", "expires_at", "url"),
      fc.oneof(fc.jsonValue(), fc.constantFrom("failed", "done", "completed", "queued")),
    );
    fc.assert(
      fc.property(record, (each) => {
        const job = read(each);
        const { progress = 0, costPicoUsd = 0n } = job ?? {};
        expect(progress >= 0 && progress <= 100 && Number.isInteger(progress)).toBe(true);
        expect(costPicoUsd >= 0n).toBe(true);
      }),
    );
  });
});
