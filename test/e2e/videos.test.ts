import OpenAI, { BadRequestError, NotFoundError, RateLimitError } from "openai";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { brokenBooks, until } from "../support/books.ts";
import { PROVIDER_KEY, type TestAccount } from "../support/gateway.ts";
import { at, bearer, httpCall, textAt, withoutIds } from "../support/http-call.ts";
import { expectCleanRefusal, expectRefusal } from "../support/refusals.ts";
import { json } from "../support/video-host.ts";
import {
  acceptedVideo,
  freshPrompt,
  getVideo,
  postVideo,
  reserveOf,
  withVideoFixture,
} from "../support/video-fixture.ts";

let account: TestAccount;

const fixture = withVideoFixture({ keyRequestsPerMinute: 10_000, orgRequestsPerMinute: 10_000 });
beforeEach(async () => {
  account = await fixture.gateway.account("100.00");
});

const balanceOf = (of: TestAccount) => fixture.gateway.backend.recordStore.balance(of.orgId);

async function generation(requestId: string): Promise<unknown> {
  const url = `${fixture.gateway.url}/v1/generation?id=${requestId}`;
  return at((await httpCall(url, { headers: bearer(account.key) })).json, "data");
}

describe("POST /v1/videos", () => {
  test("accepts a job with 200 and returns its record", async () => {
    const beforeS = Math.floor(Date.now() / 1000);
    const { answer, id } = await acceptedVideo(fixture.gateway, account, {
      seconds: 8,
      resolution: "720p",
      aspect_ratio: "16:9",
      generate_audio: true,
    });
    expect(answer.headers).toMatchObject({
      "content-type": "application/json",
      "x-tm-provider": "films",
      "x-tm-attempts": "1",
    });
    expect(answer.headers).toHaveProperty("x-tm-remaining-rpm");
    expect(id).toMatch(/^video_[0-9a-f]{32}$/);
    expect(answer.json).toEqual({
      id,
      object: "video",
      model: "test/video",
      status: "queued",
      progress: 0,
      created_at: expect.any(Number) as number,
      completed_at: null,
      expires_at: null,
      seconds: "8",
      size: null,
      resolution: "720p",
      aspect_ratio: "16:9",
      generate_audio: true,
      error: null,
      usage: null,
      request_id: answer.headers["x-request-id"],
    });
    expect(Number(at(answer.json, "created_at"))).toBeGreaterThanOrEqual(beforeS);
    expect(answer.text).not.toContain(fixture.host.last.id);
  });

  test("calls the provider in its own format: its model id, numeric seconds and its key", async () => {
    const { answer, requestId } = await acceptedVideo(fixture.gateway, account, {
      prompt: "wäves 🌊",
      seconds: "6",
      size: null,
      resolution: "480p",
      user: "u-1",
      metadata: { a: 1 },
      route: "fallback",
      models: ["x"],
    });
    const { body, headers } = fixture.host.last;
    expect(body).toEqual({
      model: "film-one:fast",
      prompt: "wäves 🌊",
      seconds: 6,
      resolution: "480p",
    });
    expect(headers.authorization).toBe(`Bearer ${PROVIDER_KEY}`);
    expect(headers["content-type"]).toBe("application/json");
    // With this header a provider can recognize a repeated request.
    expect(headers["x-client-request-id"]).toMatch(/^\d+$/);
    expect(answer.headers["x-tm-dropped-params"]).toBe("route,models");
    expect(await generation(requestId)).toMatchObject({ model: "test/video" });
  });

  test("holds seconds times the price ceiling while the job runs, and the records show it", async () => {
    const { requestId } = await acceptedVideo(fixture.gateway, account, { seconds: 7 });
    expect(await balanceOf(account)).toEqual({
      settledMicroUsd: 100_000_000n,
      heldMicroUsd: reserveOf(7),
    });
    expect(await generation(requestId)).toMatchObject({
      outcome: "in_flight",
      route: "/v1/videos",
      reserved_micro_usd: 700_000,
      cost_micro_usd: 0,
      attempts: [{ n: 1, provider: "films", upstream_id: "film-one:fast", outcome: "in_flight" }],
    });
    const usage = await httpCall(`${fixture.gateway.url}/v1/usage`, {
      headers: bearer(account.key),
    });
    expect(at(usage.json, "balance")).toMatchObject({ held_usd: 0.7, available_usd: 99.3 });
  });

  test("refuses a video that the balance does not cover, and sends nothing", async () => {
    const poor = await fixture.gateway.account("0.30");
    const before = fixture.host.asked.length;
    const answer = await postVideo(fixture.gateway, poor.key, {
      model: "test/video",
      prompt: "waves",
      seconds: 4,
    });
    expectRefusal(answer, { status: 429, code: "insufficient_quota" });
    expect(answer.headers).not.toHaveProperty("x-tm-cap-reset");
    expect(fixture.host.asked).toHaveLength(before);
    const cheaper = { model: "test/video", prompt: "waves", seconds: 3 };
    expect((await postVideo(fixture.gateway, poor.key, cheaper)).status).toBe(200);
  });

  test("counts a running job against a monthly cap", async () => {
    const capped = await fixture.gateway.account("100.00", { keyCapUsd: "1.00" });
    await acceptedVideo(fixture.gateway, capped, { seconds: 6 });
    const answer = await postVideo(fixture.gateway, capped.key, {
      model: "test/video",
      prompt: "waves",
      seconds: 5,
    });
    expectRefusal(answer, { status: 429, code: "insufficient_quota" });
    expect(answer.headers["x-tm-limit-scope"]).toBe("key");
    expect(answer.headers).toHaveProperty("x-tm-cap-reset");
  });

  test("does not count a running job as a concurrent request", async () => {
    const busy = await fixture.gateway.account("100.00");
    for (let n = 0; n < 10; n++) await acceptedVideo(fixture.gateway, busy, { seconds: 1 });
    const { heldMicroUsd } = await balanceOf(busy);
    expect(heldMicroUsd).toBe(10n * reserveOf(1));
  });
});

describe("a request that cannot be served is refused before any money is held:", () => {
  test.each<[string, string, object, string]>([
    [
      "too many seconds",
      "/v1/videos",
      { model: "test/video", prompt: "waves", seconds: 13 },
      "seconds is 13; this model accepts 1 to 12",
    ],
    [
      "a model of another route",
      "/v1/videos",
      { model: "test/a", prompt: "waves" },
      "POST /v1/chat/completions",
    ],
    [
      "a video model on the chat route",
      "/v1/chat/completions",
      { model: "test/video", messages: [{ role: "user", content: "hi" }] },
      "POST /v1/videos",
    ],
  ])("%s", async (_what, path, body, message) => {
    const asked = fixture.host.asked.length;
    const route = { gateway: fixture.gateway, account, path };
    const expected = { status: 400, code: "invalid_request", message };
    const answer = await expectCleanRefusal(route, { body }, expected);
    expect(answer.headers).not.toHaveProperty("x-tm-error-origin");
    expect(fixture.host.asked).toHaveLength(asked);
  });

  test("a body over 1 MB", async () => {
    const body = { model: "test/video", prompt: "x".repeat(1_048_576) };
    const answer = await postVideo(fixture.gateway, account.key, body);
    expectRefusal(answer, { status: 413, code: "request_too_large" });
  });
});

describe("a provider's answer to a new job", () => {
  afterEach(() => {
    fixture.host.onAccept = undefined;
  });

  test("that says completed at once is shown to the client as in_progress", async () => {
    fixture.host.onAccept = (request, response, body) => {
      const { id } = fixture.host.accept(body, request.headers);
      json(response, 202, { id, status: "completed" });
    };
    const { answer } = await acceptedVideo(fixture.gateway, account);
    expect(at(answer.json, "status")).toBe("in_progress");
  });

  test("without a record is an error for the client, does not fail over, and costs nothing", async () => {
    fixture.host.onAccept = (_request, response) => json(response, 200, { ok: true });
    const both = { model: "test/video-both-0", prompt: "waves" };
    const answer = await postVideo(fixture.gateway, account.key, both);
    expectRefusal(answer, { status: 502, code: "gateway_error" });
    expect(answer.headers).toMatchObject({ "x-tm-attempts": "1", "x-tm-error-origin": "upstream" });
    expect(await balanceOf(account)).toEqual({ settledMicroUsd: 100_000_000n, heldMicroUsd: 0n });
  });

  test("that reports a failure fails over to a provider that makes the video", async () => {
    const failed = { id: "x", status: "failed" };
    fixture.host.onAccept = (_request, response) => json(response, 200, failed);
    const model = "test/video-both-1";
    const answer = await postVideo(fixture.gateway, account.key, { model, prompt: "waves" });
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({ "x-tm-attempts": "2", "x-tm-provider": "other-films" });
    expect(fixture.other.last.body).toMatchObject({ model, seconds: 4 });
    const requestId = String(answer.headers["x-request-id"]);
    expect(await generation(requestId)).toMatchObject({
      outcome: "in_flight",
      attempts: [
        { n: 1, provider: "films", settled_cost_micro_usd: 0 },
        { n: 2, provider: "other-films", outcome: "in_flight" },
      ],
    });
  });
});

test("a video job is a 404 for another organization, and so is the provider's own job id", async () => {
  const { id } = await acceptedVideo(fixture.gateway, account);
  const stranger = await fixture.gateway.account("1.00");
  const unknown = await getVideo(fixture.gateway, stranger.key, `video_${"0".repeat(32)}`);
  for (const answer of [
    await getVideo(fixture.gateway, stranger.key, id),
    await getVideo(fixture.gateway, stranger.key, "vj-1"),
    // The provider's own id finds nothing, either.
    await getVideo(fixture.gateway, account.key, fixture.host.last.id),
  ]) {
    expectRefusal(answer, { status: 404, code: "not_found" });
    expect(withoutIds(answer)).toEqual(withoutIds(unknown));
  }
});

test("a dry run reports what a video would hold", async () => {
  const url = `${fixture.gateway.url}/v1/route?for=videos`;
  const body = { model: "test/video", prompt: freshPrompt(), seconds: 5 };
  const answer = await httpCall(url, { headers: bearer(account.key), body });
  expect(answer.json).toMatchObject({
    would_admit: true,
    estimate: { reserve_micro_usd: 500_000 },
  });
  expect(textAt(answer.json, "candidates.0.provider")).toBe("films");
});

describe("the official client", () => {
  const clientOf = ({ key }: TestAccount): OpenAI =>
    new OpenAI({ apiKey: key, baseURL: `${fixture.gateway.url}/v1`, maxRetries: 0 });

  test("requests, awaits and downloads a video", async () => {
    const { videos } = clientOf(account);
    const more = { seconds: "8", resolution: "720p" } as const;
    let video = await videos.create({ model: "test/video", prompt: freshPrompt(), ...more });
    expect(video).toMatchObject({ object: "video", status: "queued", progress: 0, seconds: "8" });
    const { last } = fixture.host;
    last.record = { id: last.id, status: "in_progress", progress: 50 };
    video = await videos.retrieve(video.id);
    expect(video).toMatchObject({ status: "in_progress", progress: 50, error: null });
    last.record = { id: last.id, status: "completed", usage: { cost: 0.8 } };
    last.file = Buffer.from("a film of thirty-two bytes, ended");
    video = await until("it is finished", async () => {
      const now = await videos.retrieve(video.id);
      return now.status === "completed" ? now : undefined;
    });
    expect(video).toMatchObject({ progress: 100, model: "test/video", error: null });
    const file = await videos.downloadContent(video.id);
    expect(file.headers.get("content-type")).toBe("video/mp4");
    expect(Buffer.from(await file.arrayBuffer())).toEqual(last.file);
  });

  test("gets errors as instances of its own classes", async () => {
    const body = { model: "test/video", prompt: freshPrompt(), seconds: "4" } as const;
    const { videos } = clientOf(account);
    const tooLong = { ...body, seconds: "99" as "4" };
    await expect(videos.create(tooLong)).rejects.toThrow(BadRequestError);
    await expect(videos.retrieve("video_none")).rejects.toThrow(NotFoundError);
    const poor = clientOf(await fixture.gateway.account("0"));
    await expect(poor.videos.create(body)).rejects.toThrow(RateLimitError);
  });
});

test("the books balance after all tests", async () => {
  expect(await brokenBooks(fixture.gateway)).toEqual([]);
});
