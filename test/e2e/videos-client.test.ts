import OpenAI, { BadRequestError, NotFoundError, RateLimitError } from "openai";
import { beforeAll, expect, test } from "vitest";

import { until } from "../support/books.ts";
import type { TestAccount } from "../support/gateway.ts";
import { freshPrompt, withVideoFixture } from "../support/video-fixture.ts";

const FILE = Buffer.from("a film of thirty-two bytes, ended");

let account: TestAccount;
let client: OpenAI;

const fixture = withVideoFixture();

beforeAll(async () => {
  account = await fixture.gateway.account("25.00");
  client = clientOf(account);
});

function clientOf({ key }: TestAccount): OpenAI {
  return new OpenAI({ apiKey: key, baseURL: `${fixture.gateway.url}/v1`, maxRetries: 0 });
}

function create(more: object = {}): Promise<OpenAI.Video> {
  const body = { model: "test/video", prompt: freshPrompt(), ...more };
  return client.videos.create(body);
}

test("the official client requests, awaits and downloads a video", async () => {
  let video = await create({ seconds: "8", resolution: "720p" });
  expect(video).toMatchObject({ object: "video", status: "queued", progress: 0, seconds: "8" });
  const { last } = fixture.host;
  last.record = { id: last.id, status: "in_progress", progress: 50 };
  video = await client.videos.retrieve(video.id);
  expect(video).toMatchObject({ status: "in_progress", progress: 50, error: null });
  last.record = { id: last.id, status: "completed", usage: { cost: 0.8 } };
  last.file = FILE;
  video = await until("it is finished", async () => {
    const now = await client.videos.retrieve(video.id);
    return now.status === "completed" ? now : undefined;
  });
  expect(video).toMatchObject({ progress: 100, model: "test/video", error: null });
  const file = await client.videos.downloadContent(video.id);
  expect(file.headers.get("content-type")).toBe("video/mp4");
  expect(Buffer.from(await file.arrayBuffer())).toEqual(FILE);
  const headers = { range: "bytes=2-5" };
  const part = await client.videos.downloadContent(video.id, {}, { headers });
  expect(part.status).toBe(206);
  expect(await part.text()).toBe("film");
});

test("errors are instances of the client's own classes", async () => {
  await expect(create({ seconds: 99 })).rejects.toThrow(BadRequestError);
  await expect(client.videos.retrieve("video_none")).rejects.toThrow(NotFoundError);
  const poor = clientOf(await fixture.gateway.account("0"));
  const body = { model: "test/video", prompt: freshPrompt() };
  await expect(poor.post("/videos", { body })).rejects.toThrow(RateLimitError);
});
