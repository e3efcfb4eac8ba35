import * as fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";

import type { JobId } from "../../src/kernel/core/ids.ts";
import { evaluatePoll, type PollResult } from "../../src/gateway/videos/job-state.ts";
import type { TakenJob } from "../../src/gateway/videos/video-job.ts";
import { quickOrDeep } from "../support/depth.ts";
import { LEASE_MS, POLL, withJobFixture, type Owner } from "../support/job-fixture.ts";
import { voidRow } from "../support/ledger-rows.ts";
import {
  costing,
  reportEnd,
  JOB_DEADLINE_MS,
  keptJob,
  newVideoJob,
  jobUpdate,
  reported,
} from "../support/video-jobs.ts";

const fixture = withJobFixture();
let owner: Owner;
beforeEach(async () => {
  owner = await fixture.owner();
});

describe("a job at its acceptance", () => {
  test("is stored with all its fields, and its attempt becomes resumable", async () => {
    const before = Date.now();
    const job = await fixture.accepted(owner, { connectionId: "conn_1", progress: 3 });
    const { deadlineMs: _, ...made } = job;
    const stored = await fixture.found(job);
    expect(stored).toEqual({
      ...made,
      createdAtMs: expect.any(Number),
      deadlineAtMs: stored.createdAtMs + JOB_DEADLINE_MS,
      completedAtMs: null,
      expiresAtMs: null,
      errorCode: null,
      costMicroUsd: null,
      polledAtMs: null,
      pollFailures: 0,
      missingPolls: 0,
    });
    expect(Math.abs(stored.createdAtMs - before)).toBeLessThan(60_000);
    expect(await fixture.attempt(job)).toEqual({
      state: "open",
      debit: "0",
      served_model: null,
      substituted: null,
      resumable: true,
      provider_job_id: job.providerJobId,
    });
  });

  test("is the same job when it is accepted again after a lost answer", async () => {
    const job = newVideoJob(await fixture.hold(owner));
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) => fixture.stores[i % 2 === 0 ? 0 : 1].accept(job)),
    );
    expect(new Set(answers)).toEqual(new Set([true]));
    await fixture.backend.jobStore.finish(job.jobId, reportEnd(job));
    expect(await fixture.other.jobStore.accept(job)).toBe(true);
    const jobs = "select from video_job where org_id = $1";
    expect(await fixture.backend.query(jobs, [owner.orgId])).toHaveLength(1);
  });

  test("is refused when its attempt was closed or belongs to another organization", async () => {
    const row = await fixture.hold(owner);
    const stranger = newVideoJob({ ...row, ...(await fixture.owner()) });
    expect(await fixture.backend.jobStore.accept(stranger)).toBe(false);
    await fixture.ledger.close(voidRow(row.attemptId));
    const job = newVideoJob(row);
    expect(await fixture.backend.jobStore.accept(job)).toBe(false);
    expect(await fixture.backend.jobStore.find(owner.orgId, job.jobId)).toBeUndefined();
    expect(await fixture.attempt(job)).toMatchObject({ state: "void", resumable: false });
  });

  test("cannot take another job's id, and then its attempt does not become resumable", async () => {
    const first = await fixture.accepted(owner);
    const second = newVideoJob(await fixture.hold(owner), { jobId: first.jobId });
    await expect(fixture.backend.jobStore.accept(second)).rejects.toThrow("another attempt");
    expect(await fixture.attempt(second)).toMatchObject({ state: "open", resumable: false });
    await fixture.ledger.close(voidRow(second.attemptId));
    expect((await fixture.found(first)).attemptId).toBe(first.attemptId);
  });

  test("does not make its attempt resumable when the job cannot be written", async () => {
    const job = newVideoJob(await fixture.hold(owner));
    await fixture.whileBroken("insert", async () => {
      await expect(fixture.backend.jobStore.accept(job)).rejects.toThrow("broken on purpose");
      expect(await fixture.attempt(job)).toMatchObject({ state: "open", resumable: false });
      expect(await fixture.other.jobStore.find(owner.orgId, job.jobId)).toBeUndefined();
    });
    expect(await fixture.backend.jobStore.accept(job)).toBe(true);
    expect(await fixture.attempt(job)).toMatchObject({ state: "open", resumable: true });
  });

  test("throws when it has already ended", async () => {
    const job = newVideoJob(await fixture.hold(owner), { state: "completed", progress: 100 });
    await expect(fixture.backend.jobStore.accept(job)).rejects.toThrow("has not ended");
    await fixture.ledger.close(voidRow(job.attemptId));
  });
});

describe("another organization's job", () => {
  test("is answered like an unknown job, for reads and polls", async () => {
    const job = await fixture.accepted(owner);
    const { orgId } = await fixture.owner();
    const { jobStore } = fixture.backend;
    const unknown = "video_00000000000000000000000000000000" as JobId;
    expect(await jobStore.find(orgId, job.jobId)).toBeUndefined();
    expect(await jobStore.find(orgId, unknown)).toBeUndefined();
    expect(await jobStore.takeOne(orgId, job.jobId, POLL)).toBeUndefined();
    expect(await jobStore.takeOne(orgId, unknown, POLL)).toBeUndefined();
    const { jobId } = job;
    expect(await jobStore.takeOne(owner.orgId, jobId, POLL)).toMatchObject({ jobId });
  });
});

const dueTo = (at: 0 | 1, limit = 50): Promise<readonly TakenJob[]> =>
  fixture.stores[at].takeDue({ limit, leaseMs: LEASE_MS });

describe("polls that are due", () => {
  beforeEach(() => fixture.endOthers());

  test("go to one process each, even at the same moment", async () => {
    const accepting = Array.from({ length: 40 }, () => fixture.accepted(owner, {}, 1n));
    const jobs = await Promise.all(accepting);
    expect(await dueTo(0)).toEqual([]);
    await fixture.setBack(60_000, ...jobs);
    const takes = Array.from({ length: 12 }, (_, i) => dueTo(i % 2 === 0 ? 0 : 1, 7));
    const taken = (await Promise.all(takes)).flat();
    // A call skips rows that another one is taking at that moment, so some jobs may still be due.
    const ids = [...taken, ...(await dueTo(1))].map(({ jobId }) => jobId);
    expect(ids).toHaveLength(40);
    expect(new Set(ids)).toEqual(new Set(jobs.map(({ jobId }) => jobId)));
    expect(taken.length).toBeGreaterThan(0);
  });

  test("come in the order of their due times, and at most as many as requested", async () => {
    const [first, second, third] = await Promise.all([1, 2, 3].map(() => fixture.accepted(owner)));
    if (first === undefined || second === undefined || third === undefined) throw new Error();
    await fixture.setBack(20_000, first, second, third);
    await fixture.setBack(20_000, second);
    const take = async () => (await dueTo(0, 1)).map(({ jobId }) => jobId);
    expect(await take()).toEqual([second.jobId]);
    await fixture.setBack(20_000, third);
    expect(await take()).toEqual([third.jobId]);
    expect(await take()).toEqual([first.jobId]);
    expect(await take()).toEqual([]);
  });

  test("go to another process when the one that took them is gone", async () => {
    const job = await fixture.accepted(owner);
    await fixture.setBack(10_000, job);
    expect(await dueTo(0)).toMatchObject([{ jobId: job.jobId }]);
    expect(await dueTo(1)).toEqual([]);
    expect(await fixture.other.jobStore.takeOne(owner.orgId, job.jobId, POLL)).toBeUndefined();
    await fixture.setBack(LEASE_MS, job);
    expect(await dueTo(1)).toMatchObject([{ jobId: job.jobId }]);
  });

  test("exist for running jobs only", async () => {
    const job = await fixture.accepted(owner);
    await fixture.setBack(60_000, job);
    await fixture.backend.jobStore.finish(job.jobId, reportEnd(job));
    expect(await dueTo(0)).toEqual([]);
    expect(await fixture.backend.jobStore.takeOne(owner.orgId, job.jobId, POLL)).toBeUndefined();
  });
});

describe("a poll at a customer's request", () => {
  test("is taken by one process at a time, and not too soon after the last one", async () => {
    const job = await fixture.accepted(owner);
    const take = (at: 0 | 1): Promise<TakenJob | undefined> =>
      fixture.stores[at].takeOne(owner.orgId, job.jobId, POLL);
    const takes = await Promise.all(Array.from({ length: 8 }, (_, i) => take(i % 2 === 0 ? 0 : 1)));
    expect(takes.filter((each) => each !== undefined)).toHaveLength(1);
    await fixture.backend.jobStore.keep(job.jobId, jobUpdate());
    expect(await take(0)).toBeUndefined();
    await fixture.setBack(POLL.pollMinMs, job);
    expect(await take(1)).toMatchObject({ jobId: job.jobId, polls: 1, progress: 10 });
  });

  test("does not wait for a writer of the job", async () => {
    const job = await fixture.accepted(owner);
    await fixture.backend.query("begin");
    await fixture.backend.query("select from video_job where job_id = $1 for update", [job.jobId]);
    expect(await fixture.other.jobStore.takeOne(owner.orgId, job.jobId, POLL)).toBeUndefined();
    await fixture.backend.query("rollback");
    expect(await fixture.other.jobStore.takeOne(owner.orgId, job.jobId, POLL)).toBeDefined();
  });
});

describe("the result of a poll", () => {
  test("is stored, releases the poll, and sets when the job is due again", async () => {
    await fixture.endOthers();
    const job = await fixture.accepted(owner);
    const { jobStore } = fixture.backend;
    const taken = await jobStore.takeOne(owner.orgId, job.jobId, POLL);
    expect(taken).toEqual({
      ...(await fixture.found(job)),
      takenAtMs: expect.any(Number),
      polls: 0,
      missingAtMs: null,
    });
    expect(taken?.takenAtMs).toBeGreaterThanOrEqual(taken?.createdAtMs ?? Number.NaN);
    await jobStore.keep(job.jobId, jobUpdate({ progress: 40, nextPollMs: 30_000 }));
    expect(await fixture.found(job)).toMatchObject({
      state: "in_progress",
      progress: 40,
      polledAtMs: expect.any(Number),
    });
    await fixture.setBack(25_000, job);
    expect(await dueTo(0)).toEqual([]);
    await fixture.setBack(6_000, job);
    expect(await dueTo(0)).toHaveLength(1);
  });

  test("changes nothing of a job that has ended", async () => {
    const job = await fixture.accepted(owner);
    const { jobStore } = fixture.backend;
    const end = await jobStore.finish(job.jobId, reportEnd(job, costing(5n)));
    await jobStore.keep(job.jobId, jobUpdate({ progress: 50, isFailure: true }));
    expect(await fixture.found(job)).toEqual(end);
    const sql = "update video_job set state = 'failed', error_code = 'x' where job_id = $1";
    await expect(fixture.backend.query(sql, [job.jobId])).rejects.toThrow("has ended");
  });

  test("changes a job in the database as the rules in TypeScript do", async () => {
    const anyReport = fc.record({
      state: fc.constantFrom("queued", "in_progress", "unknown"),
      progress: fc.option(fc.integer({ min: -10, max: 200 }), { nil: undefined }),
    });
    const anyPoll = fc.oneof(
      anyReport.map((each): PollResult => ({ kind: "reported", job: reported(each.state, each) })),
      fc.constant<PollResult>({ kind: "missing" }),
      fc.constant<PollResult>({ kind: "failure" }),
    );
    // Clearly less or more than the minute that must pass between two polls that count as missing.
    const step = fc.record({ seen: anyPoll, waitMs: fc.constantFrom(25_000, 90_000) });
    const property = fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
      const job = await fixture.accepted(owner, {}, 1n);
      let expected: TakenJob | undefined;
      for (const { seen, waitMs } of steps) {
        await fixture.setBack(waitMs, job);
        const taken = await fixture.other.jobStore.takeOne(owner.orgId, job.jobId, POLL);
        if (taken === undefined) throw new Error("the poll is free");
        expect(untimed(taken)).toEqual(untimed(expected ?? taken));
        const verdict = evaluatePoll(taken, seen, 0.5);
        if (verdict.kind === "ended") break;
        await fixture.backend.jobStore.keep(job.jobId, verdict.update);
        expected = keptJob(taken, verdict.update);
      }
      await fixture.backend.jobStore.finish(job.jobId, reportEnd(job));
    });
    await fc.assert(property, { numRuns: quickOrDeep(10, 400) });
  });
});

test("the books balance after all tests", async () => {
  expect(await fixture.brokenBooks()).toEqual([]);
});

/** Replaces the store's times by whether the job was polled or missing, and by its time limit. */
function untimed(job: TakenJob): unknown {
  const { polledAtMs, takenAtMs: _, createdAtMs, deadlineAtMs, missingAtMs, ...rest } = job;
  return {
    ...rest,
    isPolled: polledAtMs !== null,
    lastsMs: deadlineAtMs - createdAtMs,
    isMissed: missingAtMs !== null,
  };
}
