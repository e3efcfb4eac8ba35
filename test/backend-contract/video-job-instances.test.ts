import { beforeEach, describe, expect, test } from "vitest";

import type { NewVideoJob } from "../../src/gateway/videos/video-job.ts";
import type { ReserveRow } from "../../src/ledger/ledger-store.ts";
import { brokenBooks, until } from "../support/books.ts";
import { LEASE_MS, withJobFixture, type Owner } from "../support/job-fixture.ts";
import { reserveRow, voidRow } from "../support/ledger-rows.ts";
import { dayOf, retirementOf, withOldBooks } from "../support/old-days.ts";
import { costing, reportEnd, newVideoJob } from "../support/video-jobs.ts";

const fixture = withJobFixture();
let owner: Owner;
beforeEach(async () => {
  owner = await fixture.owner();
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
    expect(await store.recoverOpenAttempts()).toBe(1);
    expect(await fixture.attempt(job)).toMatchObject({
      state: "unknown_after_crash",
      resumable: false,
    });
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
    const age =
      "update instance_lease set lease_until = now() - interval '2 days' where instance_id = $1";
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
