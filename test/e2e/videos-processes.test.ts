import { beforeAll, beforeEach, expect, test } from "vitest";

import { brokenBooks, until } from "../support/books.ts";
import { openAccount, type TestAccount } from "../support/gateway.ts";
import { serve, withOperatorFolder, withPrograms } from "../support/operator.ts";
import { withBackend } from "../support/postgres.ts";
import type { RunningProgram } from "../support/program.ts";
import { json, VideoHost, videoManifest, videoModel } from "../support/video-host.ts";
import { acceptedVideo, getVideo, type AcceptedVideo } from "../support/video-fixture.ts";
import { withResource } from "../support/with-resource.ts";

let account: TestAccount;

const host = withResource(
  () => VideoHost.start(),
  (opened) => opened.close(),
);
const folder = withOperatorFolder(host);
beforeAll(() => {
  const models = [videoModel("test/video")];
  folder.writeManifest("films.json", videoManifest({ provider: "films", url: host.url, models }));
});
const backend = withBackend();
const gateways = withPrograms(() => [start(), start()]);

beforeEach(async () => {
  account = await openAccount(backend, "10.00");
});

function start(): Promise<RunningProgram> {
  return serve(folder, {
    DATABASE_URL: backend.connectionString,
    TM_VIDEOS_SWEEP_MS: "50",
    TM_VIDEOS_POLL_MIN_MS: "1",
    // Longer than any test, so that no wait for a silent provider ends because of these limits.
    TM_VIDEOS_ANSWER_TIMEOUT_MS: "3600000",
    TM_VIDEOS_CLIENT_WAIT_MS: "3600000",
  });
}

const gatewayAt = (n: number): { readonly url: string } => ({
  url: String(gateways[n]?.ready["gateway_url"]),
});
const show = (n: number, { id }: AcceptedVideo) => getVideo(gatewayAt(n), account.key, id);

async function change(sql: string, { id }: AcceptedVideo): Promise<void> {
  await backend.query(`update video_job set ${sql} where job_id = $1 and completed_at is null`, [
    id,
  ]);
}

/** Makes a job that no sweeper polls by itself. */
async function unsweptVideo(): Promise<AcceptedVideo> {
  const video = await acceptedVideo(gatewayAt(0), account);
  await change("next_poll_at = now() + interval '1 hour'", video);
  return video;
}

async function debits(): Promise<readonly unknown[]> {
  const sql = `select amount from transfer where attempt_id in
    (select attempt_id from attempt where org_id = $1)`;
  return (await backend.query(sql, [account.orgId])).map(({ amount }) => String(amount));
}

/** Holds back the answers to polls at the provider: the n-th one answers with the n-th record. */
function heldPolls(...records: readonly object[]): (() => void)[] {
  const waiting: (() => void)[] = [];
  host.last.answer = (_request, response) => {
    const record = records[waiting.length] ?? {};
    waiting.push(() => json(response, 200, record));
  };
  return waiting;
}

/** Lets both gateways poll the job at the same time. */
async function pollTwice(video: AcceptedVideo, waiting: readonly unknown[]) {
  const first = show(0, video);
  await until("the first polls", () => waiting.length === 1);
  // Ends the lease of the first poll, so that the other gateway may poll too.
  await change("lease_until = now(), polled_at = null", video);
  const second = show(1, video);
  await until("the other polls, too", () => waiting.length === 2);
  return [first, second] as const;
}

const FAILED = { id: "x", status: "failed" };
const COMPLETED = { id: "x", status: "completed", usage: { cost: 0.25 } };

test("F52: two gateways that see the end of a job at once debit it once", async () => {
  const video = await unsweptVideo();
  const waiting = heldPolls(COMPLETED, COMPLETED);
  const shown = await pollTwice(video, waiting);
  for (const answer of waiting) answer();
  for (const answer of await Promise.all(shown)) {
    expect(answer.json).toMatchObject({ status: "completed", usage: { cost: 0.25 } });
  }
  expect(await debits()).toEqual(["250000"]);
  expect(await backend.recordStore.balance(account.orgId)).toEqual({
    settledMicroUsd: 9_750_000n,
    heldMicroUsd: 0n,
  });
  expect(await brokenBooks({ backend })).toEqual([]);
});

test("two gateways that see different ends of a job agree on the first one", async () => {
  const video = await unsweptVideo();
  const waiting = heldPolls(FAILED, COMPLETED);
  const [first, second] = await pollTwice(video, waiting);
  waiting[0]?.();
  const failed = await first;
  expect(failed.json).toMatchObject({ status: "failed" });
  waiting[1]?.();
  expect((await second).json).toEqual(failed.json);
  expect(await debits()).toEqual([]);
  expect(await brokenBooks({ backend })).toEqual([]);
});

test("a gateway that shuts down releases its polls at once and waits for none", async () => {
  const video = await unsweptVideo();
  const polls = heldPolls(COMPLETED, COMPLETED);
  const shown = show(0, video);
  shown.catch(() => undefined);
  await until("it polls", () => polls.length === 1);
  const first = gateways.shift();
  // The provider does not answer the poll under way.
  expect(await first?.end("SIGTERM")).toBe(0);
  expect((await shown).json).toMatchObject({ status: "queued" });
  // Only the other gateway's sweeper can poll it now. The shutdown made it due at once; otherwise
  // it would be due ten seconds after a poll without a result, at the earliest.
  await until("the other one polls it", () => polls.length === 2);
  const sql = "select next_poll_at - polled_at as pause from video_job where job_id = $1";
  const [job] = await backend.query(`select pause = '0 s' as is_due from (${sql}) t`, [video.id]);
  expect(job).toEqual({ is_due: true });
  for (const answer of polls) answer();
  await until("the other one settles it", async () => (await debits()).length === 1);
  expect((await show(0, video)).json).toMatchObject({ status: "completed" });
});
