import { beforeEach, describe, expect, test } from "vitest";

import { microUsd } from "../../src/kernel/core/money.ts";
import type { NewVideoJob } from "../../src/gateway/videos/video-job.ts";
import type { ReserveRow } from "../../src/ledger/ledger-store.ts";
import { brokenBooks, until } from "../support/books.ts";
import { LEASE_MS, withJobFixture, type Owner } from "../support/job-fixture.ts";
import { closeRow, reserveRow, voidRow } from "../support/ledger-rows.ts";
import { dayOf, retirementOf, withOldBooks } from "../support/old-days.ts";
import { testOperator } from "../support/test-operator.ts";
import { costing, reportEnd, newVideoJob, jobUpdate } from "../support/video-jobs.ts";

const fixture = withJobFixture();
let owner: Owner;
beforeEach(async () => {
  owner = await fixture.owner();
});

describe("the end of a job", () => {
  test("as completed stores its cost, the expiry of its file and a progress of 100 percent", async () => {
    const job = await fixture.accepted(owner);
    const served = { name: "film-two", isSubstituted: true };
    const expiresAtMs = job.startedAtMs + 3_600_000;
    const end = reportEnd(job, { ...costing(320n), expiresAtMs, served });
    expect(await fixture.backend.jobStore.finish(job.jobId, end)).toMatchObject({
      state: "completed",
      progress: 100,
      completedAtMs: expect.any(Number),
      expiresAtMs,
      errorCode: null,
      costMicroUsd: 320n,
    });
    const row = { state: "settled", debit: "320", served_model: "film-two", substituted: true };
    expect(await fixture.attempt(job)).toMatchObject(row);
  });

  test("as failed debits nothing, and records what the provider charges", async () => {
    const job = await fixture.accepted(owner);
    await fixture.backend.jobStore.keep(job.jobId, jobUpdate({ progress: 60 }));
    const end = reportEnd(job, { errorCode: "content_policy_violation", ...costing(320n) });
    expect(await fixture.backend.jobStore.finish(job.jobId, end)).toMatchObject({
      state: "failed",
      progress: 60,
      errorCode: "content_policy_violation",
      costMicroUsd: 0n,
    });
    expect(await fixture.attempt(job)).toMatchObject({ state: "void", debit: "0" });
    const reported = "select reported_cost_pico::text as cost from video_job where job_id = $1";
    expect(await fixture.backend.query(reported, [job.jobId])).toEqual([{ cost: "320999999" }]);
    expect(await fixture.settledMicroUsd(owner)).toBe(10_000n);
  });

  test("as failed with a debit throws, and leaves the attempt open", async () => {
    const job = await fixture.accepted(owner);
    const failed = { state: "failed", errorCode: "video_timeout" } as const;
    const end = { ...reportEnd(job, costing(3n)), ...failed };
    await expect(fixture.backend.jobStore.finish(job.jobId, end)).rejects.toThrow("costs nothing");
    expect(await fixture.attempt(job)).toMatchObject({ state: "open" });
  });

  test("closes its own attempt only", async () => {
    const job = await fixture.accepted(owner);
    const neighbour = await fixture.hold(owner);
    const end = reportEnd({ ...job, attemptId: neighbour.attemptId }, costing(3n));
    const finishing = fixture.backend.jobStore.finish(job.jobId, end);
    await expect(finishing).rejects.toThrow("its own attempt");
    expect(await fixture.attempt(neighbour)).toMatchObject({ state: "open" });
    await fixture.ledger.close(voidRow(neighbour.attemptId));
  });

  test("debits nothing when the job cannot be written", async () => {
    const job = await fixture.accepted(owner);
    const end = reportEnd(job, costing(320n));
    await fixture.whileBroken("update", async () => {
      await expect(fixture.backend.jobStore.finish(job.jobId, end)).rejects.toThrow("on purpose");
      expect(await fixture.attempt(job)).toMatchObject({ state: "open" });
      expect(await fixture.settledMicroUsd(owner)).toBe(10_000n);
    });
    await fixture.backend.jobStore.finish(job.jobId, end);
    expect(await fixture.settledMicroUsd(owner)).toBe(9_680n);
  });
});

describe("a job whose attempt another process closed", () => {
  test("ends too, and shows what was debited", async () => {
    const job = await fixture.accepted(owner);
    await fixture.ledger.close(closeRow(job.attemptId, 77n));
    const end = await fixture.backend.jobStore.finish(job.jobId, reportEnd(job, costing(320n)));
    expect(end).toMatchObject({ state: "completed", costMicroUsd: 77n });
    expect(await fixture.settledMicroUsd(owner)).toBe(9_923n);
  });

  test("for the whole reserve gets back the difference to its cost", async () => {
    const charged = async (): Promise<NewVideoJob> => {
      const job = await fixture.accepted(owner);
      await fixture.ledger.close(voidRow(job.attemptId, { basis: "unknown_after_crash" }));
      return job;
    };
    const [film, none] = [await charged(), await charged()];
    expect(await fixture.settledMicroUsd(owner)).toBe(8_000n);
    const { jobStore } = fixture.backend;
    const failed = reportEnd(none, { errorCode: "video_expired" });
    expect(await jobStore.finish(none.jobId, failed)).toMatchObject({ costMicroUsd: 0n });
    expect(await jobStore.finish(film.jobId, reportEnd(film, costing(320n)))).toMatchObject({
      costMicroUsd: 320n,
    });
    expect(await fixture.settledMicroUsd(owner)).toBe(9_680n);
  });
});

describe("video jobs beside running traffic", () => {
  test("end and are polled while other attempts of their organizations close, without a lasting deadlock", async () => {
    const owners = await Promise.all([fixture.owner(), fixture.owner(), fixture.owner()]);
    const jobs = await Promise.all(
      Array.from({ length: 45 }, (_, i) => fixture.accepted(owners[i % 3] ?? owner, {}, 10n)),
    );
    const chats = await Promise.all(
      Array.from({ length: 90 }, (_, i) => fixture.hold(owners[i % 3] ?? owner, 10n)),
    );
    const [one, two] = fixture.stores;
    await Promise.all([
      ...jobs.map((job, i) => one.finish(job.jobId, reportEnd(job, costing(BigInt(i % 12))))),
      ...jobs.map((job) => two.keep(job.jobId, jobUpdate())),
      ...jobs.map((job) => two.finish(job.jobId, reportEnd(job, costing(4n)))),
      ...chats.map((row) => fixture.ledger.close(closeRow(row.attemptId, 3n))),
      ...owners.map((each) =>
        fixture.backend.accountStore.setOrgCap(each.orgId, microUsd(1_000_000n), testOperator),
      ),
      ...Array.from({ length: 10 }, () => two.takeDue({ limit: 9, leaseMs: 1 })),
    ]);
    for (const { orgId } of owners) {
      expect((await fixture.backend.recordStore.balance(orgId)).heldMicroUsd).toBe(0n);
    }
  });
});

describe("a job whose instance is dead", () => {
  test("is not accepted if a peer declares its instance dead at the same moment", async () => {
    const { ledgerBatchStore: store } = fixture.backend;
    const dying = await store.join("dying", LEASE_MS);
    const row = rowOf();
    await store.hold(dying, row);
    const job = newVideoJob(row);
    await fixture.backend.query("begin");
    const fence = "update instance set epoch = epoch + 1 where instance_id = $1";
    await fixture.backend.query(fence, [dying.instanceId]);
    const accepting = fixture.other.jobStore.accept(job);
    accepting.catch(() => undefined);
    await until("it waits for the fence", async () => {
      // Until this call, a transaction sees the sessions as they were at its first query.
      await fixture.backend.query("select pg_stat_clear_snapshot()");
      return (await fixture.backend.query(waitingSql)).length === 1;
    });
    await fixture.backend.query("commit");
    expect(await accepting).toBe(false);
    // This file's own ledger may recover the attempt at the same time.
    await store.recoverOpenAttempts();
    await expect
      .poll(() => fixture.attempt(job))
      .toMatchObject({ state: "unknown_after_crash", resumable: false });
    await fixture.ledger.close(voidRow(row.attemptId));
    expect(await fixture.settledMicroUsd(owner)).toBe(10_000n);
  });

  test("keeps its instance's number taken until it ends", async () => {
    const { ledgerBatchStore: store, jobStore } = fixture.backend;
    const dead = await store.join("long gone", 0);
    const row = rowOf();
    await store.hold(dead, row);
    const job = newVideoJob(row);
    await jobStore.accept(job);
    await store.leave(dead);
    const old = "lease_until = now() - interval '2 days'";
    const age = `update instance_lease set ${old} where instance_id = $1`;
    await fixture.backend.query(age, [dead.instanceId]);
    await store.takeOverDeadInstances();
    const next = await store.join("next one", LEASE_MS);
    expect(next.number).not.toBe(dead.number);

    await jobStore.finish(job.jobId, reportEnd(job, costing(320n)));
    await store.join("one after", LEASE_MS);
    const known = "select from instance where instance_id = $1";
    expect(await fixture.backend.query(known, [dead.instanceId])).toEqual([]);
    expect(await fixture.found(job)).toMatchObject({ state: "completed", costMicroUsd: 320n });
  });

  const waitingSql = `select from pg_stat_activity where datname = current_database()
    and wait_event_type = 'Lock' and query like '%accept_job%'`;

  /** A hold that an instance is going to make. */
  function rowOf(): ReserveRow {
    return reserveRow({ ...owner, attemptId: fixture.ledger.newAttemptId() }, 1_000n);
  }
});

describe("the day of a job's admission", () => {
  const day = dayOf("2025-04-10");
  const books = withOldBooks();
  const { run: retire } = retirementOf(books);

  async function accepted(): Promise<NewVideoJob> {
    const attemptId = await books.hold(day);
    const job = newVideoJob(reserveRow({ ...books.org, attemptId }, 1_000n));
    expect(await books.backend.jobStore.accept(job)).toBe(true);
    return job;
  }

  test("stays in the journal until the job ends, and can be retired before the job is deleted", async () => {
    const { jobStore } = books.backend;
    const [job, voided] = [await accepted(), await accepted()];
    await books.close(voidRow(voided.attemptId));
    await books.settle();
    expect(await retire()).toMatchObject({
      stopped: { day, reason: expect.stringContaining("1 attempt is still open") },
    });

    const end = await jobStore.finish(job.jobId, reportEnd(job, costing(320n)));
    // The day of its admission is settled already, so the job counts in the period of its end.
    const late = `select from attempt, settlement_horizon
      where attempt_id = $1 and closed_at >= through`;
    expect(await books.backend.query(late, [job.attemptId])).toHaveLength(1);
    await books.pretendThen();
    await books.settle();
    expect((await retire()).retired.map((each) => each.day)).toContain(day);

    expect(await jobStore.find(job.orgId, job.jobId)).toEqual(end);
    expect(await jobStore.finish(job.jobId, reportEnd(job))).toEqual(end);
    // This job was not polled before its attempt was retired.
    expect(await jobStore.finish(voided.jobId, reportEnd(voided, costing(9n)))).toMatchObject({
      state: "completed",
      costMicroUsd: 0n,
    });
    expect(await brokenBooks(books)).toEqual([]);
  });
});

test("the books balance after all tests", async () => {
  expect(await fixture.brokenBooks()).toEqual([]);
});
