import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";

import { brokenBooks, debitsOf, ended, nothingHeld, until } from "../support/books.ts";
import { PatientClock } from "../support/clocks.ts";
import type { TestAccount } from "../support/gateway.ts";
import { at, httpCall, type HttpAnswer } from "../support/http-call.ts";
import { withDatabase } from "../support/postgres.ts";
import { expectRefusal } from "../support/refusals.ts";
import { withProxyTo, urlThrough } from "../support/tcp-proxy.ts";
import { readSql, runSql } from "../support/sql.ts";
import { json } from "../support/video-host.ts";
import {
  acceptedVideo,
  endOf,
  freshPrompt,
  getVideo,
  makeDue,
  postVideo,
  reserveOf,
  withVideoFixture,
  type AcceptedVideo,
} from "../support/video-fixture.ts";

const SWEEP_MS = 50;
/** On this clock only a silent provider reaches the time limits, however busy the machine is. */
const clock = new PatientClock();

let account: TestAccount;

const database = withDatabase();
const proxy = withProxyTo(database);
const fixture = withVideoFixture(
  () => ({
    databaseUrl: urlThrough(proxy, database).href,
    videoSweepMs: SWEEP_MS,
    // Only the sweeper polls, unless a test makes a job due.
    videoPollMinMs: 3_600_000,
    videoAcceptTimeoutMs: 500,
    videoAnswerTimeoutMs: 500,
    videoNoAnswerPauseMs: 100,
    orgRequestsPerMinute: 10_000,
    keyRequestsPerMinute: 10_000,
    concurrentRequests: 100,
  }),
  clock,
);

beforeEach(async () => {
  account = await fixture.gateway.account("100.00");
});
afterEach(() => {
  fixture.host.onAccept = undefined;
});
afterAll(() => {
  proxy.set("up");
  clock.stop();
});

const show = (video: AcceptedVideo): Promise<HttpAnswer> =>
  getVideo(fixture.gateway, account.key, video.id);
const balance = () => fixture.gateway.backend.recordStore.balance(account.orgId);

async function swept(record: object, more: object = {}): Promise<AcceptedVideo> {
  const video = await acceptedVideo(fixture.gateway, account, { seconds: 4, ...more });
  fixture.host.last.record = record;
  await makeDue(fixture.gateway, video.id);
  return video;
}

describe("F48: a provider that does not accept the job in time", () => {
  test("gives the client a 504 upstream_error, and nothing is billed", async () => {
    fixture.host.onAccept = () => undefined;
    const answer = await postVideo(fixture.gateway, account.key, {
      model: "test/video",
      prompt: freshPrompt(),
    });
    expectRefusal(answer, { status: 504, code: "upstream_error" });
    expect(answer.headers).toMatchObject({
      "x-tm-error-origin": "upstream",
      "x-tm-attempts": "1",
    });
    expect(at(answer.json, "error.metadata.retryable")).toBe(true);
    expect(await balance()).toEqual({ settledMicroUsd: 100_000_000n, heldMicroUsd: 0n });
    const record = await ended(fixture.gateway, account, String(answer.headers["x-request-id"]));
    expect(record).toMatchObject({ outcome: "timeout" });
  });
});

describe("F49: a job that its client never polls", () => {
  const failed = { status: "failed", error: { code: "video_generation_failed" } };
  const made = { status: "completed", usage: { cost: 0.25, seconds: 4 } };

  test.each([
    ["fails", { status: "failed", error: { code: "x" } }, failed, 0n],
    ["finishes", { status: "completed", usage: { cost: 0.25 } }, made, 250_000n],
  ])("is settled when it %s", async (_how, record, shown, debitMicroUsd) => {
    const video = await swept({ id: "x", ...record });
    await nothingHeld(fixture.gateway, account);
    expect(await debitsOf(fixture.gateway, account)).toBe(debitMicroUsd);
    const end = { outcome: record.status, debitMicroUsd };
    expect(await endOf(fixture.gateway, account, video)).toEqual(end);
    const polls = fixture.host.last.polls.length;
    expect(await show(video)).toMatchObject({ status: 200, json: shown });
    expect(fixture.host.last.polls).toHaveLength(polls);
  });

  test("is settled even if its client disconnected while the provider accepted it", async () => {
    let accept: (() => void) | undefined;
    fixture.host.onAccept = (request, response, body) => {
      accept = () => {
        const job = fixture.host.accept(body, request.headers);
        job.record = { id: job.id, status: "completed", usage: { cost: 0.1 } };
        json(response, 200, { id: job.id, status: "queued" });
      };
    };
    const jobs = fixture.host.jobs.length;
    const leaving = new AbortController();
    const left = fetch(`${fixture.gateway.url}/v1/videos`, {
      method: "POST",
      headers: { authorization: `Bearer ${account.key}` },
      body: JSON.stringify({ model: "test/video", prompt: freshPrompt() }),
      signal: leaving.signal,
    }).catch(() => "left");
    await until("the provider is asked", () => accept !== undefined);
    leaving.abort();
    expect(await left).toBe("left");
    accept?.();
    await until("the job is there", () => fixture.host.jobs.length > jobs);
    // The job is made due again and again, because its client does not know when it is stored.
    const due = "update video_job set next_poll_at = now() where completed_at is null";
    await until("it is settled", async () => {
      await runSql(fixture.gateway, due, []);
      return (await debitsOf(fixture.gateway, account)) === 100_000n;
    });
    await nothingHeld(fixture.gateway, account);
  });
});

describe("F50: a running job whose provider cannot be reached", () => {
  test("keeps its last known state and its reserve, and polls by its client get a 200", async () => {
    const video = await swept({ id: "x", status: "in_progress", progress: 30 });
    await until("it is known", async () => at((await show(video)).json, "progress") === 30);
    const { last } = fixture.host;
    last.answer = (request) => void request.socket.destroy();
    const before = last.polls.length;
    await makeDue(fixture.gateway, video.id);
    await until("it was asked in vain", () => last.polls.length > before);
    const answer = await show(video);
    expect(answer.status).toBe(200);
    expect(answer.headers).not.toHaveProperty("x-tm-error-code");
    expect(answer.json).toMatchObject({ status: "in_progress", progress: 30, error: null });
    expect((await balance()).heldMicroUsd).toBe(reserveOf(4));
    last.answer = undefined;
    last.record = { id: "x", status: "completed", usage: { cost: 0.1 } };
    await until("it is settled", async () => {
      await makeDue(fixture.gateway, video.id);
      return (await debitsOf(fixture.gateway, account)) === 100_000n;
    });
  });
});

describe("F51: a job that never ends", () => {
  const impatient = withVideoFixture({
    videoSweepMs: SWEEP_MS,
    videoDeadlineMs: 1,
    videoPollMinMs: 1,
  });
  let owner: TestAccount;
  beforeEach(async () => {
    owner = await impatient.gateway.account("100.00");
  });

  test("fails with video_timeout at its deadline, is cancelled once, and stays failed", async () => {
    const { gateway, host } = impatient;
    const video = await acceptedVideo(gateway, owner);
    host.last.record = { id: "x", status: "in_progress", progress: 50 };
    await makeDue(gateway, video.id);
    await nothingHeld(gateway, owner);
    const timedOut = await getVideo(gateway, owner.key, video.id);
    expect(timedOut.status).toBe(200);
    expect(timedOut.json).toMatchObject({
      status: "failed",
      error: { code: "video_timeout" },
      usage: { cost: 0 },
    });
    expect(host.last.cancelled).toBe(1);
    host.last.record = { id: "x", status: "completed", usage: { cost: 0.1 } };
    const polls = host.last.polls.length;
    expect((await getVideo(gateway, owner.key, video.id)).json).toEqual(timedOut.json);
    expect(host.last.polls).toHaveLength(polls);
    expect(await debitsOf(gateway, owner)).toBe(0n);
    expect(await endOf(gateway, owner, video)).toEqual({ outcome: "timeout", debitMicroUsd: 0n });
    expect(await brokenBooks(gateway)).toEqual([]);
  });

  test("is polled after its provider's retry-after, even if its deadline has passed by then", async () => {
    const { gateway, host } = impatient;
    const throttled = await acceptedVideo(gateway, owner);
    host.last.answer = (_request, response) =>
      void response.writeHead(429, { "retry-after": "3" }).end("{}");
    await makeDue(gateway, throttled.id);
    await nothingHeld(gateway, owner);
    const finished = await acceptedVideo(gateway, owner);
    host.last.record = { id: "x", status: "completed", usage: { cost: 0.1 } };
    await makeDue(gateway, finished.id);
    await until("it is settled", async () => {
      const again = "update video_job set lease_until = null where job_id = $1";
      await runSql(gateway, `${again} and completed_at is null`, [finished.id]);
      return (await debitsOf(gateway, owner)) === 100_000n;
    });
    expect(host.last.polls).toHaveLength(1);
  });

  test("is settled when the provider finished it by the deadline", async () => {
    const { gateway, host } = impatient;
    const video = await acceptedVideo(gateway, owner);
    host.last.record = { id: "x", status: "completed", usage: { cost: 0.1 } };
    await makeDue(gateway, video.id);
    await nothingHeld(gateway, owner);
    expect(await debitsOf(gateway, owner)).toBe(100_000n);
    expect(host.last.cancelled).toBe(0);
  });
});

test("the next poll of a video job is never later than the job's deadline", async () => {
  const { gateway, host } = fixture;
  const video = await acceptedVideo(gateway, account);
  host.last.record = { id: "x", status: "in_progress" };
  const change = (sql: string): Promise<void> =>
    runSql(gateway, `update video_job set ${sql} where job_id = $1`, [video.id]);
  await change("deadline_at = now() + interval '5 s', next_poll_at = now()");
  const sql = `select extract(epoch from next_poll_at - polled_at)::float8 as seconds
    from video_job where job_id = $1 and polls > 0`;
  const [polled] = await until("it is polled", async () => {
    const rows = await readSql(gateway, sql, [video.id]);
    return rows.length > 0 && rows;
  });
  // Without a deadline the next poll is due in eight seconds or more.
  expect(polled?.["seconds"]).toBeLessThanOrEqual(5);
  await change("deadline_at = now(), next_poll_at = now()");
  await until("it is given up", () => host.last.cancelled > 0);
  expect(host.last.cancelled).toBe(1);
});

describe("a database", () => {
  const NOT_YET = "a video job could not be stored yet";

  test("that is down when a provider accepts gives a 503, cancels the job and charges nothing", async () => {
    fixture.host.onAccept = (request, response, body) => {
      const job = fixture.host.accept(body, request.headers);
      proxy.set("down");
      json(response, 200, job.record);
    };
    const answer = await postVideo(fixture.gateway, account.key, {
      model: "test/video",
      prompt: freshPrompt(),
    });
    expectRefusal(answer, { status: 503, code: "gateway_error" });
    expect(answer.headers["retry-after"]).toBe("2");
    const job = fixture.host.last;
    await until("it is cancelled", () => job.cancelled === 1);
    expect(fixture.gateway.log()).toContain(job.id);
    proxy.set("up");
    await nothingHeld(fixture.gateway, account);
    expect(await debitsOf(fixture.gateway, account)).toBe(0n);
  });

  test("that fails briefly after a provider accepted a job stores the job on a later try", async () => {
    const stumbles = fixture.gateway.log().split(NOT_YET).length;
    fixture.host.onAccept = (request, response, body) => {
      const job = fixture.host.accept(body, request.headers);
      proxy.set("down");
      const hasStumbled = () => fixture.gateway.log().split(NOT_YET).length > stumbles;
      void until("a first try has failed", hasStumbled).then(() => proxy.set("up"));
      json(response, 200, job.record);
    };
    const { id } = await acceptedVideo(fixture.gateway, account);
    expect(id).toMatch(/^video_/);
    expect(fixture.host.last.cancelled).toBe(0);
    expect((await balance()).heldMicroUsd).toBe(reserveOf(4));
  });

  test("that is down turns client polls into 503s, and the job is settled once it is back", async () => {
    const video = await acceptedVideo(fixture.gateway, account);
    fixture.host.last.record = { id: "x", status: "completed", usage: { cost: 0.2 } };
    await makeDue(fixture.gateway, video.id);
    const failedSweeps = async (): Promise<number> => {
      const { text } = await httpCall(`${fixture.gateway.running.internalUrl}/metrics`);
      return Number(/^tm_video_sweeps_failed_total (\d+)$/m.exec(text)?.[1]);
    };
    const before = await failedSweeps();
    proxy.set("down");
    await until("sweeps fail", async () => (await failedSweeps()) > before + 1);
    const answer = await show(video);
    expectRefusal(answer, { status: 503, code: "gateway_error" });
    expect(answer.headers).toMatchObject({ "retry-after": "2" });
    proxy.set("up");
    // A sweep that loses its database connection keeps the job's lease until it ends, and a poll
    // that fails postpones the next one. This test waits for neither.
    const dueNow =
      "update video_job set lease_until = null, next_poll_at = now() where job_id = $1";
    await until("it is settled", async () => {
      await runSql(fixture.gateway, dueNow, [video.id]).catch(() => undefined);
      const debits = await debitsOf(fixture.gateway, account).catch(() => 0n);
      return debits === 200_000n;
    });
  });
});

test("a silent provider does not delay the settlement of another provider's jobs", async () => {
  const silent = await swept({ id: "x" }, { model: "test/video-both-0" });
  const { last } = fixture.host;
  last.answer = () => undefined;
  await makeDue(fixture.gateway, silent.id);
  const other = await swept({ id: "x", status: "completed", usage: { cost: 0.3 } });
  const isSettled = async () => (await debitsOf(fixture.gateway, account)) === 300_000n;
  await until("it is settled", isSettled);
  expect((await show(other)).json).toMatchObject({ status: "completed" });
  expect((await show(silent)).json).toMatchObject({ status: "queued" });
  last.answer = undefined;
});

test("64 running jobs, more than a sweep takes, are polled once per interval, whatever clients poll", async () => {
  const jobs: AcceptedVideo[] = [];
  // One sweep takes 50 jobs.
  while (jobs.length < 64) {
    const eight = Array.from({ length: 8 }, () =>
      acceptedVideo(fixture.gateway, account, { seconds: 1 }),
    );
    jobs.push(...(await Promise.all(eight)));
  }
  const hosted = fixture.host.jobs.slice(-jobs.length);
  for (const job of hosted) job.record = { id: job.id, status: "in_progress" };
  // Postpones the polls, because on a slow machine the first jobs may have been polled already.
  const later = "next_poll_at = now() + interval '1 hour'";
  await runSql(fixture.gateway, `update video_job set ${later} where completed_at is null`, []);
  await until("polls under way have ended", async () => {
    const leased = "select 1 from video_job where completed_at is null and lease_until > now()";
    return (await readSql(fixture.gateway, leased, [])).length === 0;
  });
  const before = hosted.map(({ polls }) => polls.length);
  const since = (): number[] => hosted.map(({ polls }, n) => polls.length - (before[n] ?? 0));
  await makeDue(fixture.gateway, ...jobs.map(({ id }) => id));
  await until("each is polled", () => Math.min(...since()) > 0);
  for (const job of jobs) expect((await show(job)).status).toBe(200);
  expect(Math.max(...since())).toBe(1);
  expect((await balance()).heldMicroUsd).toBe(BigInt(jobs.length) * reserveOf(1));
});

test("the books balance after all tests", async () => {
  expect(await brokenBooks(fixture.gateway)).toEqual([]);
});
