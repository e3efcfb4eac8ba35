import { beforeEach, describe, expect, test } from "vitest";

import { brokenBooks, until } from "../support/books.ts";
import { withGateway, type TestAccount } from "../support/gateway.ts";
import { bearer, httpCall, textAt } from "../support/http-call.ts";
import { expectRefusal } from "../support/refusals.ts";
import { videoManifest, videoModel } from "../support/video-host.ts";
import { acceptedVideo, endOf, getVideo, postVideo, reserveOf } from "../support/video-fixture.ts";

const HOSTS = [
  { host: "vid", option: { size: "720x1280" }, withoutFile: 404 },
  { host: "vidor", option: { resolution: "720p" }, withoutFile: 404 },
  // This provider's job record has a field for the file, so a finished job without one has failed.
  { host: "vidx", option: { aspect_ratio: "16:9" }, withoutFile: 400 },
] as const;
const FILE_BYTES = 65_536;

let account: TestAccount;

const gateway = withGateway(() => {
  const seconds = { type: "integer", min: 1, max: 12, default: 4 };
  const takes = (option: object): object =>
    Object.fromEntries(
      Object.entries(option).map(([name, value]) => [name, { type: "enum", values: [value] }]),
    );
  return {
    settings: { videoPollMinMs: 1, videoSweepMs: 3_600_000, videoNoAnswerPauseMs: 100 },
    manifests: HOSTS.map(({ host, option }) =>
      videoManifest({
        provider: `sim-${host}`,
        url: `{simulator}/${host}`,
        models: [
          videoModel(`test/${host}`, { supported_parameters: { seconds, ...takes(option) } }),
        ],
      }),
    ),
  };
});
beforeEach(async () => {
  account = await gateway.account("10.00");
});

async function endedVideo(id: string): Promise<unknown> {
  return await until("the job has ended", async () => {
    const { json } = await getVideo(gateway, account.key, id);
    const status = textAt(json, "status");
    return status === "completed" || status === "failed" ? json : undefined;
  });
}

describe.each(HOSTS)("a provider with the format of $host", ({ host, option, withoutFile }) => {
  const model = `test/${host}`;

  test("makes a video, reports its cost, and delivers the file", async () => {
    const video = await acceptedVideo(gateway, account, { model, seconds: 5, ...option });
    expect(video.answer.json).toMatchObject({ status: "queued", seconds: "5", ...option });
    expect(await endedVideo(video.id)).toMatchObject({
      status: "completed",
      progress: 100,
      usage: { cost: 0.5, seconds: 5 },
    });
    expect((await endOf(gateway, account, video)).debitMicroUsd).toBe(reserveOf(5));
    const url = `${gateway.url}/v1/videos/${video.id}/content`;
    const whole = await httpCall(url, { headers: bearer(account.key) });
    expect(whole.headers).toMatchObject({
      "content-type": "video/mp4",
      "content-length": String(FILE_BYTES),
    });
  });

  test("reports a moderated video as failed, and nothing is charged", async () => {
    const prompt = 'waves [[fault:job:{"final":"failed","moderated":true}]]';
    const video = await acceptedVideo(gateway, account, { model, prompt });
    expect(await endedVideo(video.id)).toMatchObject({
      status: "failed",
      error: { code: "content_policy_violation" },
      usage: { cost: 0 },
    });
    expect((await endOf(gateway, account, video)).debitMicroUsd).toBe(0n);
  });

  test("refuses a prompt in its own format, and the client gets a 400 content_policy", async () => {
    const prompt = "waves [[fault:content_filter]]";
    const answer = await postVideo(gateway, account.key, { model, prompt });
    expectRefusal(answer, { status: 400, code: "content_policy" });
    expect(answer.headers["x-tm-attempts"]).toBe("1");
  });

  test("that has no file for a finished job gives the client the 404 or 400 of its format", async () => {
    const prompt = 'waves [[fault:job:{"no_content":true}]]';
    const video = await acceptedVideo(gateway, account, { model, prompt });
    await endedVideo(video.id);
    const url = `${gateway.url}/v1/videos/${video.id}/content`;
    const answer = await httpCall(url, { headers: bearer(account.key) });
    expect(answer.status).toBe(withoutFile);
  });
});

test("the books balance after all tests", async () => {
  expect(await brokenBooks(gateway)).toEqual([]);
});
