import { expect } from "vitest";

import type { SettingName } from "../../src/kernel/config/settings.ts";
import { systemClock, type Clock } from "../../src/kernel/core/time.ts";
import { ended } from "./books.ts";
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

/** A gateway in front of two providers of videos, which the test controls. */
export interface VideoFixture {
  readonly gateway: TestGateway;
  /** The provider of `test/video`, and the first provider of the models in `BOTH`. */
  readonly host: VideoHost;
  /** The second provider of the models in `BOTH`: it gets a job if the first one fails. */
  readonly other: VideoHost;
  close(): Promise<void>;
}

/**
 * Models of both providers, one for each test, so that a circuit that one test opens, or a pool
 * that it fills, affects no other test.
 */
const BOTH = Array.from({ length: 10 }, (_, n) => videoModel(`test/video-both-${n}`));

/**
 * The gateway polls providers by itself only once an hour. A client's request for a job makes it
 * poll at once, and waits up to a minute for the result, because the machine may be busy.
 */
const BY_HAND = { videoSweepMs: 3_600_000, videoPollMinMs: 1, videoClientWaitMs: 60_000 };

type Settings = Partial<Record<SettingName, string | number | boolean>>;

export async function openVideoFixture(
  settings: Settings = {},
  clock: Clock = systemClock,
): Promise<VideoFixture> {
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
      videoManifest({
        provider: "other-films",
        url: other.url,
        models: BOTH,
        priority: 1,
      }),
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

/**
 * Starts the fixture before the tests of the calling file. Give settings as a function if they are
 * known only then.
 */
export function withVideoFixture(
  settings: Settings | (() => Settings) = {},
  clock?: Clock,
): VideoFixture {
  return withResource(() =>
    openVideoFixture(typeof settings === "function" ? settings() : settings, clock),
  );
}

let prompts = 0;

/** Returns a prompt that no other job has. */
export function freshPrompt(): string {
  prompts += 1;
  return `waves at dawn, take ${prompts}`;
}

/** Returns the reserve for a video of so many seconds, in micro-dollars. */
export function reserveOf(seconds: number): bigint {
  return BigInt(seconds * VIDEO_CEILING);
}

export async function postVideo(
  gateway: Pick<TestGateway, "url">,
  key: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<HttpAnswer> {
  const url = `${gateway.url}/v1/videos`;
  return await httpCall(url, { body, headers: { ...bearer(key), ...headers } });
}

export async function getVideo(
  gateway: Pick<TestGateway, "url">,
  key: string,
  id: string,
): Promise<HttpAnswer> {
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
  const answer = await postVideo(gateway, account.key, body);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
  const id = textAt(answer.json, "id");
  return { id, requestId: String(answer.headers["x-request-id"]), answer };
}

/** Makes running jobs due for the next sweep. */
export async function makeDue(gateway: TestGateway, ...ids: readonly string[]): Promise<void> {
  const sql =
    "update video_job set next_poll_at = now() where job_id = any ($1) and completed_at is null";
  await runSql(gateway, sql, [ids]);
}

/** Waits for the end of the job's request; returns its outcome and debit. */
export async function endOf(
  gateway: TestGateway,
  account: TestAccount,
  { requestId }: AcceptedVideo,
): Promise<{ readonly outcome: string; readonly debitMicroUsd: bigint }> {
  const record = await ended(gateway, account, requestId);
  const debitMicroUsd = record.attempts.reduce((sum, each) => sum + each.debitMicroUsd, 0n);
  return { outcome: record.outcome, debitMicroUsd };
}
