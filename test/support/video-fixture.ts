import { expect } from "vitest";

import type { SettingName } from "../../src/kernel/config/settings.ts";
import { systemClock, type Clock } from "../../src/kernel/core/time.ts";
import { debitOf, ended, untilTaken } from "./books.ts";
import {
  STANDARD_MANIFESTS,
  startTestGateway,
  type TestAccount,
  type TestGateway,
} from "./gateway.ts";
import { bearer, httpCall, textAt, type HttpAnswer } from "./http-call.ts";
import { runSql } from "./sql.ts";
import { VIDEO_CEILING, VideoHost, videoManifest, videoModel } from "./video-host.ts";
import { withResource } from "./with-resource.ts";

/** One model for each test, so that a circuit or pool of one test affects no other. */
const BOTH = Array.from({ length: 10 }, (_, n) => videoModel(`test/video-both-${n}`));

/** Only a client's request polls a provider, and waits up to a minute, as machines are busy. */
const BY_HAND = { videoSweepMs: 3_600_000, videoPollMinMs: 1, videoClientWaitMs: 60_000 };

type Settings = Partial<Record<SettingName, string | number | boolean>>;

/**
 * Opens a gateway in front of two providers of videos: `host` has `test/video` and the models in
 * `BOTH`; `other` is the second provider of these, and gets a job if the first one fails.
 */
async function openVideoFixture(settings: Settings, clock: Clock = systemClock) {
  const [host, other] = [await VideoHost.start(), await VideoHost.start()];
  const gateway = await startTestGateway({
    clock,
    settings: { ...BY_HAND, ...settings },
    manifests: [
      ...STANDARD_MANIFESTS,
      videoManifest({
        provider: "films",
        url: host.url,
        models: [videoModel("test/video", { upstream_id: "film-one:fast" }), ...BOTH],
      }),
      videoManifest({ provider: "other-films", url: other.url, models: BOTH, priority: 1 }),
    ],
  });
  return {
    gateway,
    host,
    other,
    close: async () => {
      await gateway.close();
      await host.close();
      await other.close();
    },
  };
}

/** Starts the fixture for the tests of a file. A function gives settings known only then. */
export function withVideoFixture(settings: Settings | (() => Settings) = {}, clock?: Clock) {
  return withResource(() =>
    openVideoFixture(typeof settings === "function" ? settings() : settings, clock),
  );
}

let prompts = 0;

export function freshPrompt(): string {
  prompts += 1;
  return `waves at dawn, take ${prompts}`;
}

export function reserveOf(seconds: number): bigint {
  return BigInt(seconds * VIDEO_CEILING);
}

export async function postVideo(
  gateway: Pick<TestGateway, "url">,
  key: string,
  body: unknown,
): Promise<HttpAnswer> {
  return await httpCall(`${gateway.url}/v1/videos`, { body, headers: bearer(key) });
}

export async function getVideo(gateway: Pick<TestGateway, "url">, key: string, id: string) {
  return await httpCall(`${gateway.url}/v1/videos/${id}`, { headers: bearer(key) });
}

export interface AcceptedVideo {
  readonly id: string;
  readonly requestId: string;
  readonly answer: HttpAnswer;
}

export async function acceptedVideo(
  gateway: Pick<TestGateway, "url">,
  account: Pick<TestAccount, "key">,
  more: object = {},
): Promise<AcceptedVideo> {
  const body = { model: "test/video", prompt: freshPrompt(), ...more };
  const answer = await untilTaken(() => postVideo(gateway, account.key, body));
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
  const id = textAt(answer.json, "id");
  return { id, requestId: String(answer.headers["x-request-id"]), answer };
}

export async function makeDue(gateway: TestGateway, ...ids: readonly string[]): Promise<void> {
  const sql =
    "update video_job set next_poll_at = now() where job_id = any ($1) and completed_at is null";
  await runSql(gateway, sql, [ids]);
}

export async function endOf(
  gateway: TestGateway,
  account: TestAccount,
  { requestId }: AcceptedVideo,
): Promise<{ readonly outcome: string; readonly debitMicroUsd: bigint }> {
  const record = await ended(gateway, account, requestId);
  return { outcome: record.outcome, debitMicroUsd: debitOf(record) };
}
