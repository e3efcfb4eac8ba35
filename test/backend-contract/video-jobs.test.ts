import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import * as fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import type { JobId } from "../../src/core/ids.ts";
import { microUsd, picoUsd } from "../../src/core/money.ts";
import { judgeLook, type JobLook } from "../../src/jobs/job-state.ts";
import { endOfJob } from "../../src/jobs/job-close.ts";
import type { JobNews } from "../../src/jobs/job-store.ts";
import type { NewVideoJob, TakenJob, VideoJob } from "../../src/jobs/video-job.ts";
import type { ReserveRow } from "../../src/ledger/ledger-store.ts";
import { DayFolder } from "../../src/storage/files/day-folder.ts";
import { openSigningKey } from "../../src/storage/files/signing-key.ts";
import { until } from "../support/books.ts";
import { quickOrDeep } from "../support/depth.ts";
import { JobWorld, type Owner } from "../support/job-world.ts";
import { closeRow, reserveRow, voidRow } from "../support/ledger-rows.ts";
import { brokenChecks, dayOf, retireOldDays, withOldBooks } from "../support/old-days.ts";
import { ended, JOB_DEADLINE_MS, keptJob, newVideoJob, told } from "../support/video-jobs.ts";
import { withResource } from "../support/with-resource.ts";

const LEASE_MS = 600_000;
const POLL = { pollMinMs: 3_000, leaseMs: LEASE_MS };

let owner: Owner;

const world = withResource(
  () => JobWorld.open(),
  (opened) => opened.close(),
);
beforeEach(async () => {
  owner = await world.owner();
});

function news(change: Partial<JobNews> = {}): JobNews {
  return {
    state: "in_progress",
    progress: 10,
    isFailure: false,
    isMissing: false,
    nextPollMs: 10_000,
    ...change,
  };
}

/** The end that a provider's word makes of a job. */
function endTold(
  job: Pick<VideoJob, "attemptId" | "startedAtMs">,
  change: Parameters<typeof ended>[0] = {},
): ReturnType<typeof endOfJob> {
  return endOfJob(job as VideoJob, ended(change), job.startedAtMs + 60_000);
}

function costing(micros: bigint): { readonly costPicoUsd: ReturnType<typeof picoUsd> } {
  return { costPicoUsd: picoUsd(micros * 1_000_000n + 999_999n) };
}

async function found(job: NewVideoJob): Promise<VideoJob> {
  const known = await world.backend.jobStore.find(job.orgId, job.jobId);
  if (known === undefined) throw new Error(`no job ${job.jobId}`);
  return known;
}

describe("an accepted job", () => {
  test("is there with everything it was made of, and its attempt outlives its instance", async () => {
    const before = Date.now();
    const job = await world.accepted(owner, { connectionId: "conn_1", progress: 3 });
    const { deadlineMs: _, ...made } = job;
    const stored = await found(job);
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
    expect(await world.attempt(job)).toEqual({
      state: "open",
      debit: "0",
      resumable: true,
      provider_job_id: job.providerJobId,
    });
  });

  test("holds its reserve in the balance and in the caps until it ends", async () => {
    const { recordStore, accountStore, jobStore } = world.backend;
    await accountStore.setOrgCap(owner.orgId, microUsd(1_500n));
    const job = await world.accepted(owner);
    const held = { settledMicroUsd: 10_000n, heldMicroUsd: 1_000n };
    expect(await recordStore.balance(owner.orgId)).toEqual(held);
    for (const keyId of [undefined, owner.keyId]) {
      expect(await recordStore.monthSpend(owner.orgId, keyId)).toMatchObject({
        spentMicroUsd: 0n,
        inFlightMicroUsd: 1_000n,
      });
    }
    await expect(world.hold(owner)).rejects.toThrow("cap");
    await jobStore.finish(job.jobId, endTold(job, costing(320n)));
    expect(await recordStore.balance(owner.orgId)).toEqual({
      settledMicroUsd: 9_680n,
      heldMicroUsd: 0n,
    });
    for (const keyId of [undefined, owner.keyId]) {
      expect(await recordStore.monthSpend(owner.orgId, keyId)).toMatchObject({
        spentMicroUsd: 320n,
        inFlightMicroUsd: 0n,
      });
    }
    await world.ledger.close(voidRow((await world.hold(owner)).attemptId));
    expect(await world.brokenBooks()).toEqual([]);
  });

  test("asked for again after a lost answer, also at once, is the same job", async () => {
    const job = newVideoJob(await world.hold(owner));
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) => world.stores[i % 2 === 0 ? 0 : 1].accept(job)),
    );
    expect(new Set(answers)).toEqual(new Set([true]));
    await world.backend.jobStore.finish(job.jobId, endTold(job));
    expect(await world.other.jobStore.accept(job)).toBe(true);
    const rows = await world.backend.query("select from video_job where org_id = $1", [
      owner.orgId,
    ]);
    expect(rows).toHaveLength(1);
  });

  test("is none when its attempt was closed before, or belongs to somebody else", async () => {
    const row = await world.hold(owner);
    const stranger = newVideoJob({ ...row, ...(await world.owner()) });
    expect(await world.backend.jobStore.accept(stranger)).toBe(false);
    await world.ledger.close(voidRow(row.attemptId));
    const job = newVideoJob(row);
    expect(await world.backend.jobStore.accept(job)).toBe(false);
    expect(await world.backend.jobStore.find(owner.orgId, job.jobId)).toBeUndefined();
    expect(await world.attempt(job)).toMatchObject({ state: "void", resumable: false });
  });

  test("does not take another job's id, and leaves no mark on its attempt then", async () => {
    const first = await world.accepted(owner);
    const second = newVideoJob(await world.hold(owner), { jobId: first.jobId });
    await expect(world.backend.jobStore.accept(second)).rejects.toThrow("another attempt");
    expect(await world.attempt(second)).toMatchObject({ state: "open", resumable: false });
    await world.ledger.close(voidRow(second.attemptId));
    expect((await found(first)).attemptId).toBe(first.attemptId);
  });

  test("cannot be half there: when it cannot be written, its attempt is not marked", async () => {
    const job = newVideoJob(await world.hold(owner));
    await whileBroken("insert", async () => {
      await expect(world.backend.jobStore.accept(job)).rejects.toThrow("broken on purpose");
      expect(await world.attempt(job)).toMatchObject({ state: "open", resumable: false });
      expect(await world.other.jobStore.find(owner.orgId, job.jobId)).toBeUndefined();
    });
    expect(await world.backend.jobStore.accept(job)).toBe(true);
    expect(await world.attempt(job)).toMatchObject({ state: "open", resumable: true });
  });

  test("that has ended already is a fault of the caller", async () => {
    const job = newVideoJob(await world.hold(owner), { state: "completed", progress: 100 });
    await expect(world.backend.jobStore.accept(job)).rejects.toThrow("has not ended");
    await world.ledger.close(voidRow(job.attemptId));
  });
});

/** Lets every write of this kind into the jobs fail at its very end. */
async function whileBroken(verb: "insert" | "update", work: () => Promise<void>): Promise<void> {
  await world.backend.query(`
    create function break_on_purpose() returns trigger language plpgsql as
      $$ begin raise exception 'broken on purpose'; end $$;
    create trigger broken after ${verb} on video_job
      for each row execute function break_on_purpose();`);
  try {
    await work();
  } finally {
    await world.backend.query("drop function break_on_purpose cascade");
  }
}

describe("another organization's job", () => {
  test("is like one that never was, to read and to poll", async () => {
    const job = await world.accepted(owner);
    const { orgId } = await world.owner();
    const { jobStore } = world.backend;
    const unknown = "video_00000000000000000000000000000000" as JobId;
    expect(await jobStore.find(orgId, job.jobId)).toBeUndefined();
    expect(await jobStore.find(orgId, unknown)).toBeUndefined();
    expect(await jobStore.takeOne(orgId, job.jobId, POLL)).toBeUndefined();
    expect(await jobStore.takeOne(orgId, unknown, POLL)).toBeUndefined();
    expect(await jobStore.takeOne(owner.orgId, job.jobId, POLL)).toMatchObject({
      jobId: job.jobId,
    });
  });
});

describe("the polls that are due", () => {
  beforeEach(() => world.endOthers());

  test("go to one process each, whoever asks at the same moment", async () => {
    const jobs = await Promise.all(Array.from({ length: 40 }, () => world.accepted(owner, {}, 1n)));
    expect(await world.backend.jobStore.takeDue({ limit: 50, leaseMs: LEASE_MS })).toEqual([]);
    await world.setBack(60_000, ...jobs);
    const takes = Array.from({ length: 12 }, (_, i) =>
      world.stores[i % 2 === 0 ? 0 : 1].takeDue({ limit: 7, leaseMs: LEASE_MS }),
    );
    const taken = (await Promise.all(takes)).flat();
    // Whoever came second saw a row that was just being taken and went on: the rest is still due.
    const rest = await world.other.jobStore.takeDue({ limit: 50, leaseMs: LEASE_MS });
    const ids = [...taken, ...rest].map(({ jobId }) => jobId);
    expect(ids).toHaveLength(40);
    expect(new Set(ids)).toEqual(new Set(jobs.map(({ jobId }) => jobId)));
    expect(taken.length).toBeGreaterThan(0);
  });

  test("come in the order in which they are due, no more than asked for", async () => {
    const [first, second, third] = await Promise.all([1, 2, 3].map(() => world.accepted(owner)));
    if (first === undefined || second === undefined || third === undefined) throw new Error();
    await world.setBack(20_000, first, second, third);
    await world.setBack(20_000, second);
    const take = () => world.backend.jobStore.takeDue({ limit: 1, leaseMs: LEASE_MS });
    expect((await take()).map(({ jobId }) => jobId)).toEqual([second.jobId]);
    await world.setBack(20_000, third);
    expect((await take()).map(({ jobId }) => jobId)).toEqual([third.jobId]);
    expect((await take()).map(({ jobId }) => jobId)).toEqual([first.jobId]);
    expect(await take()).toEqual([]);
  });

  test("are others' when the process that took them is gone", async () => {
    const job = await world.accepted(owner);
    await world.setBack(10_000, job);
    const [taken] = await world.backend.jobStore.takeDue({ limit: 5, leaseMs: LEASE_MS });
    expect(taken?.jobId).toBe(job.jobId);
    expect(await world.other.jobStore.takeDue({ limit: 5, leaseMs: LEASE_MS })).toEqual([]);
    expect(await world.other.jobStore.takeOne(owner.orgId, job.jobId, POLL)).toBeUndefined();
    await world.setBack(LEASE_MS, job);
    const [again] = await world.other.jobStore.takeDue({ limit: 5, leaseMs: LEASE_MS });
    expect(again?.jobId).toBe(job.jobId);
  });

  test("are those of running jobs only", async () => {
    const job = await world.accepted(owner);
    await world.setBack(60_000, job);
    await world.backend.jobStore.finish(job.jobId, endTold(job));
    expect(await world.backend.jobStore.takeDue({ limit: 5, leaseMs: LEASE_MS })).toEqual([]);
    expect(await world.backend.jobStore.takeOne(owner.orgId, job.jobId, POLL)).toBeUndefined();
  });
});

describe("a poll that a customer asks for", () => {
  test("is one at a time, and not too soon after the last one", async () => {
    const job = await world.accepted(owner);
    const take = (at: 0 | 1): Promise<TakenJob | undefined> =>
      world.stores[at].takeOne(owner.orgId, job.jobId, POLL);
    const takes = await Promise.all(Array.from({ length: 8 }, (_, i) => take(i % 2 === 0 ? 0 : 1)));
    expect(takes.filter((each) => each !== undefined)).toHaveLength(1);
    await world.backend.jobStore.keep(job.jobId, news());
    expect(await take(0)).toBeUndefined();
    await world.setBack(POLL.pollMinMs, job);
    expect(await take(1)).toMatchObject({ jobId: job.jobId, polls: 1, progress: 10 });
  });

  test("does not wait for whoever writes the job just now", async () => {
    const job = await world.accepted(owner);
    await world.backend.query("begin");
    await world.backend.query("select from video_job where job_id = $1 for update", [job.jobId]);
    expect(await world.other.jobStore.takeOne(owner.orgId, job.jobId, POLL)).toBeUndefined();
    await world.backend.query("rollback");
    expect(await world.other.jobStore.takeOne(owner.orgId, job.jobId, POLL)).toBeDefined();
  });
});

describe("what a look told", () => {
  test("is kept, gives the poll back, and says when it is due again", async () => {
    await world.endOthers();
    const job = await world.accepted(owner);
    const { jobStore } = world.backend;
    const taken = await jobStore.takeOne(owner.orgId, job.jobId, POLL);
    expect(taken).toEqual({
      ...(await found(job)),
      takenAtMs: expect.any(Number),
      polls: 0,
      missingAtMs: null,
    });
    expect(taken?.takenAtMs).toBeGreaterThanOrEqual(taken?.createdAtMs ?? Number.NaN);
    await jobStore.keep(job.jobId, news({ progress: 40, nextPollMs: 30_000 }));
    expect(await found(job)).toMatchObject({
      state: "in_progress",
      progress: 40,
      polledAtMs: expect.any(Number),
    });
    await world.setBack(25_000, job);
    expect(await jobStore.takeDue({ limit: 5, leaseMs: LEASE_MS })).toEqual([]);
    await world.setBack(6_000, job);
    expect(await jobStore.takeDue({ limit: 5, leaseMs: LEASE_MS })).toHaveLength(1);
  });

  test("never takes progress or a state back", async () => {
    const job = await world.accepted(owner);
    const { jobStore } = world.backend;
    await jobStore.keep(job.jobId, news({ progress: 40 }));
    await jobStore.keep(job.jobId, news({ state: "queued", progress: 7 }));
    expect(await found(job)).toMatchObject({ state: "in_progress", progress: 40 });
  });

  test("changes nothing of a job that has ended", async () => {
    const job = await world.accepted(owner);
    const { jobStore } = world.backend;
    const end = await jobStore.finish(job.jobId, endTold(job, costing(5n)));
    await jobStore.keep(job.jobId, news({ progress: 50, isFailure: true }));
    expect(await found(job)).toEqual(end);
    const sql = "update video_job set state = 'failed', error_code = 'x' where job_id = $1";
    await expect(world.backend.query(sql, [job.jobId])).rejects.toThrow("has ended");
  });

  test("makes the same of a job as the rules in plain words, whatever was seen", async () => {
    const anyLook = fc.oneof(
      fc
        .record({
          state: fc.constantFrom("queued" as const, "in_progress" as const, "unknown" as const),
          progress: fc.option(fc.integer({ min: -10, max: 200 }), { nil: undefined }),
        })
        .map((each): JobLook => ({ kind: "told", job: told(each.state, each) })),
      fc.constant<JobLook>({ kind: "missing" }),
      fc.constant<JobLook>({ kind: "failure" }),
    );
    // Clearly less or more than the minute that looks must be apart to count.
    const step = fc.record({ seen: anyLook, waitMs: fc.constantFrom(25_000, 90_000) });
    const property = fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
      const job = await world.accepted(owner, {}, 1n);
      let expected: TakenJob | undefined;
      for (const { seen, waitMs } of steps) {
        await world.setBack(waitMs, job);
        const taken = await world.other.jobStore.takeOne(owner.orgId, job.jobId, POLL);
        if (taken === undefined) throw new Error("the poll is free");
        expect(untimed(taken)).toEqual(untimed(expected ?? taken));
        const verdict = judgeLook(taken, seen, 0.5);
        if (verdict.kind === "ended") break;
        await world.backend.jobStore.keep(job.jobId, verdict.news);
        expected = keptJob(taken, verdict.news);
      }
      await world.backend.jobStore.finish(job.jobId, endTold(job));
    });
    await fc.assert(property, { numRuns: quickOrDeep(10, 400) });
  });
});

/** Without the times of the store's clock, but for how long ago the job was missed. */
function untimed(job: TakenJob): unknown {
  const { polledAtMs, takenAtMs: _, createdAtMs, deadlineAtMs, missingAtMs, ...rest } = job;
  return {
    ...rest,
    isPolled: polledAtMs !== null,
    lastsMs: deadlineAtMs - createdAtMs,
    isMissed: missingAtMs !== null,
  };
}

describe("the end of a job", () => {
  test("debits what was reported, once, of twenty who end it at the same moment", async () => {
    const job = await world.accepted(owner);
    const ends = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        world.stores[i % 2 === 0 ? 0 : 1].finish(
          job.jobId,
          i % 5 === 4
            ? endTold(job, { errorCode: "video_cancelled" })
            : endTold(job, { ...costing(BigInt(100 + i)), expiresAtMs: 1_795_000_000_000 + i }),
        ),
      ),
    );
    const [first] = ends;
    for (const each of ends) expect(each).toEqual(first);
    expect(await found(job)).toEqual(first);
    const costMicroUsd = first?.costMicroUsd ?? -1n;
    expect(await world.settledMicroUsd(owner)).toBe(10_000n - costMicroUsd);
    const moved = "select coalesce(sum(amount), 0)::text as n from transfer where attempt_id = $1";
    expect(await world.backend.query(moved, [job.attemptId])).toEqual([{ n: `${costMicroUsd}` }]);
    expect(await world.brokenBooks()).toEqual([]);
  });

  test("completed: at its floor, with its file's last day, at a hundred percent", async () => {
    const job = await world.accepted(owner);
    const served = { name: "film-two", isSubstituted: true };
    const end = endTold(job, { ...costing(320n), expiresAtMs: 1_795_000_000_000, served });
    expect(await world.backend.jobStore.finish(job.jobId, end)).toMatchObject({
      state: "completed",
      progress: 100,
      completedAtMs: expect.any(Number),
      expiresAtMs: 1_795_000_000_000,
      errorCode: null,
      costMicroUsd: 320n,
    });
    const reported = { served_model: "film-two", substituted: true };
    const row = { state: "settled", debit: "320", ...reported };
    expect(await world.attempt(job)).toMatchObject(row);
  });

  test("completed above its reserve debits the reserve; the house bears the rest", async () => {
    const job = await world.accepted(owner);
    const end = endTold(job, costing(1_400n));
    const { costMicroUsd } = await world.backend.jobStore.finish(job.jobId, end);
    expect(costMicroUsd).toBe(1_000n);
    expect(await world.settledMicroUsd(owner)).toBe(9_000n);
    expect(await world.brokenBooks()).toEqual([]);
  });

  test("completed at a cost beyond all sense ends all the same", async () => {
    const job = await world.accepted(owner);
    const end = endTold(job, { costPicoUsd: picoUsd(10n ** 60n) });
    const { costMicroUsd } = await world.backend.jobStore.finish(job.jobId, end);
    expect(costMicroUsd).toBe(1_000n);
    expect(await world.brokenBooks()).toEqual([]);
  });

  test("completed without a cost debits nothing", async () => {
    const job = await world.accepted(owner);
    const { costMicroUsd } = await world.backend.jobStore.finish(job.jobId, endTold(job));
    expect(costMicroUsd).toBe(0n);
    expect(await world.settledMicroUsd(owner)).toBe(10_000n);
  });

  test("failed costs nothing, and what the provider wants for it is written down", async () => {
    const job = await world.accepted(owner);
    await world.backend.jobStore.keep(job.jobId, news({ progress: 60 }));
    const end = endTold(job, { errorCode: "content_policy_violation", ...costing(320n) });
    expect(await world.backend.jobStore.finish(job.jobId, end)).toMatchObject({
      state: "failed",
      progress: 60,
      errorCode: "content_policy_violation",
      costMicroUsd: 0n,
    });
    expect(await world.attempt(job)).toMatchObject({ state: "void", debit: "0" });
    const reported = "select reported_cost_pico::text as cost from video_job where job_id = $1";
    expect(await world.backend.query(reported, [job.jobId])).toEqual([{ cost: "320999999" }]);
    expect(await world.settledMicroUsd(owner)).toBe(10_000n);
    expect(await world.brokenBooks()).toEqual([]);
  });

  test("failed and owing something is a fault of the caller", async () => {
    const job = await world.accepted(owner);
    const end = {
      ...endTold(job, costing(3n)),
      state: "failed",
      errorCode: "video_timeout",
    } as const;
    await expect(world.backend.jobStore.finish(job.jobId, end)).rejects.toThrow("costs nothing");
    expect(await world.attempt(job)).toMatchObject({ state: "open" });
  });

  test("closes no other attempt than its own", async () => {
    const job = await world.accepted(owner);
    const neighbour = await world.hold(owner);
    const end = endTold({ ...job, attemptId: neighbour.attemptId }, costing(3n));
    await expect(world.backend.jobStore.finish(job.jobId, end)).rejects.toThrow("its own attempt");
    expect(await world.attempt(neighbour)).toMatchObject({ state: "open" });
    await world.ledger.close(voidRow(neighbour.attemptId));
  });

  test("cannot be half done: when the job cannot be written, nothing is debited", async () => {
    const job = await world.accepted(owner);
    const end = endTold(job, costing(320n));
    await whileBroken("update", async () => {
      await expect(world.backend.jobStore.finish(job.jobId, end)).rejects.toThrow("on purpose");
      expect(await world.attempt(job)).toMatchObject({ state: "open" });
      expect(await world.settledMicroUsd(owner)).toBe(10_000n);
    });
    await world.backend.jobStore.finish(job.jobId, end);
    expect(await world.settledMicroUsd(owner)).toBe(9_680n);
    expect(await world.brokenBooks()).toEqual([]);
  });

  test("counts in the month of its admission", async () => {
    const job = await world.accepted(owner);
    await world.backend.query("begin");
    await world.backend.query("set local session_replication_role = replica");
    const earlier = "month = month - interval '1 month'";
    await world.backend.query(`update attempt set ${earlier} where org_id = $1`, [owner.orgId]);
    const spenders = [owner.orgId, owner.keyId];
    await world.backend.query(`update spend set ${earlier} where id = any ($1)`, [spenders]);
    await world.backend.query("commit");
    // In flight it counts against every month.
    const { recordStore } = world.backend;
    expect(await recordStore.monthSpend(owner.orgId)).toMatchObject({ inFlightMicroUsd: 1_000n });
    await world.backend.jobStore.finish(job.jobId, endTold(job, costing(320n)));
    expect(await recordStore.monthSpend(owner.orgId)).toMatchObject({
      spentMicroUsd: 0n,
      inFlightMicroUsd: 0n,
    });
    const spent = "select settled from spend where scope = 'org' and id = $1";
    expect(await world.backend.query(spent, [owner.orgId])).toEqual([{ settled: "320" }]);
    expect(await world.brokenBooks()).toEqual([]);
  });
});

describe("a job whose attempt somebody else closed", () => {
  test("ends all the same, and shows what was debited", async () => {
    const job = await world.accepted(owner);
    await world.ledger.close(closeRow(job.attemptId, 77n));
    const end = await world.backend.jobStore.finish(job.jobId, endTold(job, costing(320n)));
    expect(end).toMatchObject({ state: "completed", costMicroUsd: 77n });
    expect(await world.settledMicroUsd(owner)).toBe(9_923n);
    expect(await world.brokenBooks()).toEqual([]);
  });

  test("at its reserve, not knowing, gives the difference back", async () => {
    const charged = async (): Promise<NewVideoJob> => {
      const job = await world.accepted(owner);
      await world.ledger.close(voidRow(job.attemptId, { basis: "unknown_after_crash" }));
      return job;
    };
    const [film, none] = [await charged(), await charged()];
    expect(await world.settledMicroUsd(owner)).toBe(8_000n);
    const { jobStore } = world.backend;
    const failed = endTold(none, { errorCode: "video_expired" });
    expect(await jobStore.finish(none.jobId, failed)).toMatchObject({ costMicroUsd: 0n });
    expect(await jobStore.finish(film.jobId, endTold(film, costing(320n)))).toMatchObject({
      costMicroUsd: 320n,
    });
    expect(await world.settledMicroUsd(owner)).toBe(9_680n);
    expect(await world.brokenBooks()).toEqual([]);
  });
});

describe("beside running traffic", () => {
  test("ends, closings, holds and looks of the same organizations never block each other for good", async () => {
    const owners = await Promise.all([world.owner(), world.owner(), world.owner()]);
    const jobs = await Promise.all(
      Array.from({ length: 45 }, (_, i) => world.accepted(owners[i % 3] ?? owner, {}, 10n)),
    );
    const chats = await Promise.all(
      Array.from({ length: 90 }, (_, i) => world.hold(owners[i % 3] ?? owner, 10n)),
    );
    const [one, two] = world.stores;
    await Promise.all([
      ...jobs.map((job, i) => one.finish(job.jobId, endTold(job, costing(BigInt(i % 12))))),
      ...jobs.map((job) => two.keep(job.jobId, news())),
      ...jobs.map((job) => two.finish(job.jobId, endTold(job, costing(4n)))),
      ...chats.map((row) => world.ledger.close(closeRow(row.attemptId, 3n))),
      ...owners.map((each) =>
        world.backend.accountStore.setOrgCap(each.orgId, microUsd(1_000_000n)),
      ),
      ...Array.from({ length: 10 }, () => two.takeDue({ limit: 9, leaseMs: 1 })),
    ]);
    for (const { orgId } of owners) {
      expect((await world.backend.recordStore.balance(orgId)).heldMicroUsd).toBe(0n);
    }
    expect(await world.brokenBooks()).toEqual([]);
  });

  test("a database that does not answer is a fault within seconds; asked again, the end is one", async () => {
    const job = await world.accepted(owner);
    await world.backend.query("begin");
    const wallet = `wallet:${owner.orgId}`;
    await world.backend.query("select from account where account_id = $1 for update", [wallet]);
    const { jobStore } = world.other;
    await expect(jobStore.finish(job.jobId, endTold(job, costing(5n)))).rejects.toThrow();
    await world.backend.query("rollback");
    const { costMicroUsd } = await jobStore.finish(job.jobId, endTold(job, costing(9n)));
    // The first one may have committed after all.
    expect([5n, 9n]).toContain(costMicroUsd);
    expect(await world.settledMicroUsd(owner)).toBe(10_000n - (costMicroUsd ?? 0n));
    expect(await world.brokenBooks()).toEqual([]);
  });
});

describe("a job whose instance is dead", () => {
  test("goes on: declared dead, recovered, joined again, it is nobody's loss", async () => {
    const { ledgerBatchStore: store, jobStore } = world.backend;
    const dead = await store.join("filming", 0);
    const attempts = [rowOf(), rowOf()];
    await store.reserveBatch(
      dead,
      attempts.map((row) => ({ row, close: null })),
    );
    const [film, lost] = attempts.map((row) => newVideoJob(row));
    if (film === undefined || lost === undefined) throw new Error();
    expect(await jobStore.accept(film)).toBe(true);
    expect(await store.takeOverDeadInstances()).toContain(dead.instanceId);
    // Too late: recovery may have seen this attempt without its mark.
    expect(await jobStore.accept(lost)).toBe(false);
    expect(await jobStore.accept(film)).toBe(true);
    expect(await store.recoverOpenAttempts()).toBe(1);
    expect(await store.takeOverDeadInstances()).toEqual([]);
    expect(await world.attempt(lost)).toMatchObject({ state: "unknown_after_crash" });
    await store.join("filming", 0);
    expect(await store.recoverOpenAttempts()).toBe(0);
    expect(await world.brokenBooks()).toEqual([]);

    await world.setBack(60_000, film);
    const taken = await world.other.jobStore.takeDue({ limit: 1_000, leaseMs: LEASE_MS });
    expect(taken.map(({ jobId }) => jobId)).toContain(film.jobId);
    expect(await world.attempt(film)).toMatchObject({ state: "open" });
    const end = await world.other.jobStore.finish(film.jobId, endTold(film, costing(320n)));
    expect(end).toMatchObject({ state: "completed", costMicroUsd: 320n });
    expect(await world.brokenBooks()).toEqual([]);
  });

  test("is not made while a peer declares its instance dead, whoever is first", async () => {
    const { ledgerBatchStore: store } = world.backend;
    const dying = await store.join("dying", LEASE_MS);
    const row = rowOf();
    await store.reserveBatch(dying, [{ row, close: null }]);
    const job = newVideoJob(row);
    await world.backend.query("begin");
    const fence = "update instance set epoch = epoch + 1 where instance_id = $1";
    await world.backend.query(fence, [dying.instanceId]);
    const accepting = world.other.jobStore.accept(job);
    accepting.catch(() => undefined);
    await until("it waits for the fence", async () => {
      // A transaction sees other sessions as they were when it first looked.
      await world.backend.query("select pg_stat_clear_snapshot()");
      return (await world.backend.query(waitingSql)).length === 1;
    });
    await world.backend.query("commit");
    expect(await accepting).toBe(false);
    expect(await store.recoverOpenAttempts()).toBe(1);
    expect(await world.attempt(job)).toMatchObject({
      state: "unknown_after_crash",
      resumable: false,
    });
    await world.ledger.close(voidRow(row.attemptId));
    expect(await world.settledMicroUsd(owner)).toBe(10_000n);
    expect(await world.brokenBooks()).toEqual([]);
  });

  test("keeps its instance's number taken until it ends", async () => {
    const { ledgerBatchStore: store, jobStore } = world.backend;
    const dead = await store.join("long gone", 0);
    const row = rowOf();
    await store.reserveBatch(dead, [{ row, close: null }]);
    const job = newVideoJob(row);
    await jobStore.accept(job);
    await store.leave(dead);
    const age =
      "update instance_lease set lease_until = now() - interval '2 days' where instance_id = $1";
    await world.backend.query(age, [dead.instanceId]);
    await store.takeOverDeadInstances();
    const next = await store.join("next one", LEASE_MS);
    expect(next.number).not.toBe(dead.number);
    expect(await world.brokenBooks()).toEqual([]);

    await jobStore.finish(job.jobId, endTold(job, costing(320n)));
    await store.join("one after", LEASE_MS);
    const known = "select from instance where instance_id = $1";
    expect(await world.backend.query(known, [dead.instanceId])).toEqual([]);
    expect(await found(job)).toMatchObject({ state: "completed", costMicroUsd: 320n });
    expect(await world.brokenBooks()).toEqual([]);
  });

  const waitingSql = `select from pg_stat_activity where datname = current_database()
    and wait_event_type = 'Lock' and query like '%accept_job%'`;

  /** A hold that some instance is going to make. */
  function rowOf(): ReserveRow {
    return reserveRow({ ...owner, attemptId: world.ledger.newAttemptId() }, 1_000n);
  }
});

describe("the day of a job's admission", () => {
  const day = dayOf("2025-04-10");
  const books = withOldBooks();
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "tokenmarket-jobs-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function accepted(): Promise<NewVideoJob> {
    const attemptId = await books.hold(day);
    const job = newVideoJob(reserveRow({ ...books.org, attemptId }, 1_000n));
    expect(await books.backend.jobStore.accept(job)).toBe(true);
    return job;
  }

  function retire(): ReturnType<typeof retireOldDays> {
    const key = openSigningKey(join(folder, "key.pem"));
    return retireOldDays(books, { key, archive: new DayFolder(join(folder, "days")) });
  }

  test("stays in the journal until it ends, and may leave it before the job is forgotten", async () => {
    const { jobStore } = books.backend;
    const [job, voided] = [await accepted(), await accepted()];
    await books.close(voidRow(voided.attemptId));
    await books.settle();
    expect(await retire()).toMatchObject({
      stopped: { day, why: expect.stringContaining("1 attempt is still open") },
    });

    const end = await jobStore.finish(job.jobId, endTold(job, costing(320n)));
    // Its day is settled with the provider: it counts in the period in which it ended.
    const late = `select from attempt, settlement_horizon
      where attempt_id = $1 and closed_at >= through`;
    expect(await books.backend.query(late, [job.attemptId])).toHaveLength(1);
    await books.pretendThen();
    await books.settle();
    expect((await retire()).retired.map((each) => each.day)).toContain(day);

    expect(await jobStore.find(job.orgId, job.jobId)).toEqual(end);
    expect(await jobStore.finish(job.jobId, endTold(job))).toEqual(end);
    // Nobody had looked at this one while its attempt was still there.
    expect(await jobStore.finish(voided.jobId, endTold(voided, costing(9n)))).toMatchObject({
      state: "completed",
      costMicroUsd: 0n,
    });
    expect(await brokenChecks(books)).toEqual([]);
  });
});
